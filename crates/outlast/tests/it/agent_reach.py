"""Attempts to get at the worker, the supervisor and the store of an agent run.

Takes one JSON object as its argument. Prints one JSON object: for each attempt
"out" when it got there, else why it did not. With `signal` 0 nothing that it
reaches is harmed.
"""
import ctypes
import errno
import json
import os
import socket
import subprocess
import sys

TOLD = json.loads(sys.argv[1])
LIBC = ctypes.CDLL(None, use_errno=True)
RUN, KEY = TOLD["dir"], TOLD["key"].encode()
ATTEMPTS = []


def attempt(name):
    def add(act):
        ATTEMPTS.append((name, act))
        return act
    return add


def call(number, *arguments):
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)


for who in ["worker", "supervisor"]:
    pid = TOLD[who]

    @attempt("a signal to the " + who)
    def _(pid=pid):
        os.kill(pid, TOLD["signal"])
        return True

    @attempt("a signal to the %s by its descriptor" % who)
    def _(pid=pid):
        return call(424, call(434, pid, 0), TOLD["signal"], None, 0) == 0

    @attempt("the environment of the " + who)
    def _(pid=pid):
        read("/proc/%d/environ" % pid)
        return True

    @attempt("the memory of the " + who)
    def _(pid=pid):
        os.close(os.open("/proc/%d/mem" % pid, os.O_RDWR))
        return True

    @attempt("the descriptors of the " + who)
    def _(pid=pid):
        return len(os.listdir("/proc/%d/fd" % pid)) > 0

    @attempt("a descriptor of the " + who)
    def _(pid=pid):
        return call(438, call(434, pid, 0), 0, 0) >= 0

    @attempt("the root of the " + who)
    def _(pid=pid):
        return len(os.listdir("/proc/%d/root%s" % (pid, RUN))) > 0

    @attempt("a trace of the " + who)
    def _(pid=pid):
        return call(101, 0x4206, pid, 0, 0) == 0


@attempt("a key in any environment")
def _():
    found = False
    for name in os.listdir("/proc"):
        try:
            found = found or (name.isdigit() and KEY in read("/proc/%s/environ" % name))
        except OSError:
            pass
    return found


@attempt("the files of the run")
def _():
    return len(os.listdir(RUN)) > 0


for name in ["journal.jsonl", "spec.json"]:
    @attempt("to read " + name)
    def _(name=name):
        return len(read(RUN + "/" + name)) > 0

    @attempt("to write " + name)
    def _(name=name):
        os.close(os.open(RUN + "/" + name, os.O_WRONLY | os.O_APPEND))
        return True


@attempt("the control socket")
def _():
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(RUN)
        made.connect("control")
        return True


@attempt("the program, of this run")
def _():
    environment = dict(os.environ, OUTLAST_HOME=TOLD["store"])
    for words in TOLD["words"]:
        done = subprocess.run([TOLD["program"]] + words, env=environment, capture_output=True)
        if done.returncode == 0:
            return True
    return False


def run(act):
    pid_read, pid_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = "out" if act() else "held"
        except OSError as error:
            told = errno.errorcode.get(error.errno, "error")
        except BaseException as error:
            told = type(error).__name__
        os.write(pid_write, told.encode())
        os._exit(0)
    os.close(pid_write)
    told = os.read(pid_read, 64).decode()
    os.waitpid(child, 0)
    return told or "held"


print("\n" + json.dumps({name: run(act) for name, act in ATTEMPTS}))
