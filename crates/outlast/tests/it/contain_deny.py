"""Executes a program under a filter that lets one system call fail.

Arguments: number of the call, errno, first argument that it must have or -1,
then the program and its words.
"""
import ctypes
import os
import struct
import sys

number, errno, argument = (int(word) for word in sys.argv[1:4])
libc = ctypes.CDLL(None, use_errno=True)


def instruction(code, jump_true, jump_false, value):
    return struct.pack("=HBBI", code, jump_true, jump_false, value & 0xFFFFFFFF)


LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
program = [instruction(LOAD, 0, 0, 0)]
if argument < 0:
    program += [instruction(JUMP_EQUAL, 0, 1, number)]
else:
    program += [
        instruction(JUMP_EQUAL, 0, 3, number),
        instruction(LOAD, 0, 0, 16),
        instruction(JUMP_EQUAL, 0, 1, argument),
    ]
program += [instruction(RETURN, 0, 0, ERRNO | errno), instruction(RETURN, 0, 0, ALLOW)]
code = b"".join(program)
buffer = ctypes.create_string_buffer(code)
header = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(buffer))
if os.getuid() != 0 and libc.prctl(38, 1, 0, 0, 0) != 0:
    sys.exit("no new privileges: " + os.strerror(ctypes.get_errno()))
if libc.prctl(22, 2, header, 0, 0) != 0:
    sys.exit("filter: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[4], sys.argv[4:])
