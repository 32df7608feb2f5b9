"""Attempts to get out of a containment, each in a process of its own.

Takes one JSON object as its argument: where the bait lies. Prints one JSON
object: for each attempt "out" when it got out, else why it did not. Attempts
whose effect can be seen on the host alone print "done", and the caller looks.

No attempt harms a host that it reaches: what would change mounts, or reach
into process 1, is only made where neither is the host's.
"""
import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import socket
import stat
import struct
import sys

BAIT = json.loads(sys.argv[1])
WORK, OUT, HOME, TAG = BAIT["work"], BAIT["out"], BAIT["home"], BAIT["tag"]
LIBC = ctypes.CDLL(None, use_errno=True)
LIMIT_S = 10
ATTEMPTS = []


def is_on_host():
    """Whether mounts, and so process 1, are those that the caller has."""
    return os.readlink("/proc/self/ns/mnt") == BAIT["mounts"]


def attempt(group, name):
    def add(act):
        ATTEMPTS.append((group + ": " + name, act))
        return act
    return add


def call(number, *arguments):
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def put(path):
    with open(path, "a") as file:
        file.write("x")


def writes(group, name, path, by_host=False):
    def act():
        put(path)
        return "done" if by_host else True
    ATTEMPTS.append((group + ": " + name, act))


def at_first_process(act):
    """Makes a bare attempt on a process 1 that is ours: the host's is nobody's to reach into."""
    def apart():
        if not BAIT["is_bare"]:
            return act()
        call(272, 0x20020000)
        first = os.fork()
        if first == 0:
            os.closerange(3, 1024)
            os._exit(0 if is_out_below(act) else 1)
        return os.waitpid(first, 0)[1] == 0
    return apart


def is_out_below(act):
    """Whether a child of this process 1 gets out, with a /proc that shows it."""
    try:
        checked(LIBC.mount(b"none", b"/", None, 0x44000, None))
        checked(LIBC.mount(b"proc", b"/proc", b"proc", 0, None))
        child = os.fork()
        if child == 0:
            os._exit(0 if act() else 1)
        return os.waitpid(child, 0)[1] == 0
    except BaseException:
        os._exit(1)


# --- writes
writes("write", "a file outside", OUT + "/written")
writes("write", "a file of /etc", "/etc/outlast-probe-" + TAG)
writes("write", "a file of the home", HOME + "/home-" + TAG, by_host=True)
writes("write", "a file of /tmp", "/tmp/outlast-probe-" + TAG, by_host=True)
writes("write", "a file of /dev/shm", "/dev/shm/outlast-probe-" + TAG, by_host=True)
writes("write", "by /proc/self/root", "/proc/self/root" + OUT + "/by-root")
writes("write", "by the root of a process outside", "/proc/%d/root" % BAIT["process"] + OUT + "/by-other-root")


@attempt("write", "by the root of process 1")
@at_first_process
def _():
    put("/proc/1/root" + OUT + "/by-first-root")
    return True


@attempt("write", "through a link in the workspace")
def _():
    os.symlink(OUT, WORK + "/link")
    put(WORK + "/link/by-link")
    return True


@attempt("write", "through a hard link in the workspace")
def _():
    os.link(OUT + "/target", WORK + "/hard")
    put(WORK + "/hard")
    return True


@attempt("write", "by a rename out of the workspace")
def _():
    put(WORK + "/moved")
    os.rename(WORK + "/moved", OUT + "/moved")
    return True


@attempt("write", "by a rename into the workspace")
def _():
    os.rename(OUT + "/to-move", WORK + "/taken")
    return True


@attempt("write", "a file shorter")
def _():
    os.truncate(OUT + "/target", 0)
    return True


@attempt("write", "permissions outside")
def _():
    os.chmod(OUT + "/target", 0o777)
    return True


@attempt("write", "times outside")
def _():
    os.utime(OUT + "/target")
    return True


@attempt("write", "attributes outside")
def _():
    os.setxattr(OUT + "/target", "user.probe", b"1")
    return True


@attempt("write", "by a descriptor that was left open")
def _():
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number < 3:
            continue
        try:
            made = os.open("by-descriptor", os.O_CREAT | os.O_WRONLY, dir_fd=number)
        except OSError:
            continue
        os.write(made, b"x")
        return True
    return False


@attempt("write", "a device file")
def _():
    path = WORK + "/device"
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    return os.open(path, os.O_RDONLY) >= 0


# --- what gives orders to programs outside
writes("orders", "git configuration", WORK + "/.git/config")
writes("orders", "a new git hook", WORK + "/.git/hooks/post-checkout")
writes("orders", "a hook of a repository inside", WORK + "/nested/.git/hooks/post-checkout")
for known in [".claude/settings.json", ".vscode/tasks.json", ".mcp.json", ".envrc", ".husky/pre-push"]:
    writes("orders", "present " + known, WORK + "/" + known)


@attempt("orders", "absent .codex, made (reported)")
def _():
    os.mkdir(WORK + "/.codex")
    put(WORK + "/.codex/config.toml")
    return True


def swap(old, path):
    os.rename(old, old + "-moved")
    os.makedirs(os.path.dirname(path))
    put(path)
    return True


@attempt("orders", "another .git in its place")
def _():
    return swap(WORK + "/.git", WORK + "/.git/hooks/x")


@attempt("orders", "other hooks in their place")
def _():
    return swap(WORK + "/.git/hooks", WORK + "/.git/hooks/x")


@attempt("orders", "another directory around a repository")
def _():
    return swap(WORK + "/nested", WORK + "/nested/.git/hooks/x")


@attempt("orders", "another workspace in its place")
def _():
    os.rename(WORK, WORK + "-moved")
    os.rename(WORK + "-moved", WORK)
    return True


# --- reads
def reads(name, path):
    def act():
        with open(path, "rb") as file:
            return b"bait" in file.read(1 << 20)
    ATTEMPTS.append(("read: " + name, act))


reads("a key of the home", HOME + "/.ssh/id_probe")
reads("a token within a toolchain", HOME + "/.cargo/credentials.toml")
reads("the store of the runs", HOME + "/kept/bait")
reads("a file outside", OUT + "/readable")
reads("a file of /var/tmp", BAIT["shared_file"])
reads("the environment of a process outside", "/proc/%d/environ" % BAIT["process"])


@attempt("read", "passwords of the system")
def _():
    with open("/etc/shadow", "rb") as file:
        return len(file.read()) > 0


@attempt("read", "the environment of process 1")
@at_first_process
def _():
    with open("/proc/1/environ", "rb") as file:
        file.read()
        return True


@attempt("read", "the memory of the machine")
def _():
    return any(opens(path) for path in ["/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda"])


def opens(path, flags=os.O_RDONLY):
    try:
        os.close(os.open(path, flags))
        return True
    except OSError:
        return False


# --- network and sockets
def connects(name, family, address):
    def act():
        with socket.socket(family, socket.SOCK_STREAM) as made:
            made.settimeout(3)
            made.connect(address)
            return made.recv(8).startswith(b"bait")
    ATTEMPTS.append(("network: " + name, act))


connects("TCP to the host", socket.AF_INET, ("127.0.0.1", BAIT["tcp"]))
connects("TCP to the host, version 6", socket.AF_INET6, ("::1", BAIT["tcp6"]))
connects("a unix socket outside", socket.AF_UNIX, BAIT["socket_out"])
connects("a unix socket in /tmp", socket.AF_UNIX, BAIT["socket_tmp"])
connects("a unix socket in /run", socket.AF_UNIX, BAIT["socket_run"])
connects("an abstract unix socket", socket.AF_UNIX, "\0" + BAIT["socket_abstract"])


@attempt("network", "UDP to the host")
def _():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.settimeout(3)
        made.sendto(TAG.encode(), ("127.0.0.1", BAIT["udp"]))
        return made.recv(8).startswith(b"bait")


@attempt("network", "a way to other hosts")
def _():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.connect(("198.51.100.1", 53))
        return True


def makes(name, *arguments):
    def act():
        socket.socket(*arguments).close()
        return True
    ATTEMPTS.append(("network: a " + name + " socket", act))


makes("vsock", 40, socket.SOCK_STREAM)
makes("packet", 17, socket.SOCK_RAW)
makes("raw", socket.AF_INET, socket.SOCK_RAW, 1)
makes("kernel crypto", 38, 5)


@attempt("network", "io_uring")
def _():
    return call(425, 1, ctypes.create_string_buffer(120)) >= 0


# --- kernel
@attempt("kernel", "a user namespace")
def _():
    return call(272, 0x10000000) == 0


@attempt("kernel", "a user namespace by clone")
def _():
    pid = call(56, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


@attempt("kernel", "a user namespace by clone3")
def _():
    arguments = struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    pid = call(435, arguments, len(arguments))
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


@attempt("kernel", "a mount")
def _():
    if is_on_host() and os.getuid() == 0:
        return "not tried on the host"
    os.mkdir(WORK + "/point")
    path = (WORK + "/point").encode()
    checked(LIBC.mount(b"none", path, b"tmpfs", 0, None))
    checked(LIBC.umount2(path, 2))
    return True


@attempt("kernel", "a mount by its newer calls")
def _():
    return call(430, b"tmpfs", 0) >= 0


@attempt("kernel", "the mounts of the host")
def _():
    return is_on_host()


@attempt("kernel", "a writable root")
def _():
    if is_on_host() or BAIT["is_bare"]:
        return "not tried on the host"
    checked(LIBC.mount(b"none", b"/", None, 0x20 | 0x1000, None))
    put("/outlast-probe-" + TAG)
    return True


@attempt("kernel", "an unmounted cover")
def _():
    if is_on_host():
        return "not tried on the host"
    if BAIT["is_bare"]:
        # A cover of its own shows that the call works where it may be made.
        os.mkdir(WORK + "/cover")
        path = (WORK + "/cover").encode()
        checked(LIBC.mount(b"none", path, b"tmpfs", 0, None))
        return LIBC.umount2(path, 2) == 0
    covers = [HOME, "/tmp", "/run", "/dev", "/proc/sys", WORK + "/.git/hooks", WORK + "/.claude"]
    return any(LIBC.umount2(path.encode(), 2) == 0 for path in covers)


@attempt("kernel", "the namespaces of a process outside")
def _():
    return call(308, os.open("/proc/%d/ns/mnt" % BAIT["process"], os.O_RDONLY), 0) == 0


@attempt("kernel", "the namespaces of process 1")
@at_first_process
def _():
    return call(308, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0) == 0


@attempt("kernel", "another root directory")
def _():
    checked(LIBC.chroot(WORK.encode()))
    return True


@attempt("kernel", "a file by its handle")
def _():
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128), 136)
    mount = ctypes.c_int()
    call(303, -100, OUT.encode(), handle, ctypes.byref(mount), 0)
    return True


@attempt("kernel", "bpf")
def _():
    attributes = struct.pack("=IIII", 2, 4, 4, 1) + bytes(112)
    return call(321, 0, attributes, len(attributes)) >= 0


@attempt("kernel", "performance counters")
def _():
    attributes = struct.pack("=IIQ", 1, 112, 0) + bytes(96)
    return call(298, attributes, 0, -1, -1, 0) >= 0


@attempt("kernel", "userfaultfd")
def _():
    return call(323, 0) >= 0


@attempt("kernel", "keys of the session")
def _():
    return call(250, 0, -3, 1) > 0


@attempt("kernel", "a signal to a process outside")
def _():
    os.kill(BAIT["process"], 0)
    return True


@attempt("kernel", "the memory of a process outside")
def _():
    return call(101, 0x4206, BAIT["process"], 0, 0) == 0


@attempt("kernel", "the memory of the launcher")
@at_first_process
def _():
    if is_on_host():
        return "not tried on the host"
    return call(101, 0x4206, 1, 0, 0) == 0


@attempt("kernel", "a forged end, by the launcher's descriptors")
@at_first_process
def _():
    if is_on_host():
        return "not tried on the host"
    for name in os.listdir("/proc/1/fd"):
        put("/proc/1/fd/" + name)
    return True


def knob(path):
    def act():
        return os.open(path, os.O_WRONLY) >= 0
    ATTEMPTS.append(("kernel: " + path, act))


for path in [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
]:
    knob(path)


@attempt("kernel", "a cgroup")
def _():
    found = [root + "/cgroup.procs" for root, _, _ in os.walk("/sys/fs/cgroup")]
    return any(opens(path, os.O_WRONLY) for path in found)


@attempt("kernel", "capabilities")
def _():
    with open("/proc/self/status") as file:
        lines = [line for line in file if line.startswith("CapEff")]
    return int(lines[0].split()[1], 16) != 0


@attempt("kernel", "the name of the host")
def _():
    socket.sethostname(socket.gethostname())
    return True


@attempt("kernel", "the rights of a set-user-ID file")
def _():
    pipe = os.popen(WORK + "/as-owner -u 2>/dev/null")
    told = pipe.read().strip()
    return told != str(os.geteuid()) and told == BAIT["owner"]


@attempt("kernel", "input for a terminal")
def _():
    master, terminal = os.openpty()
    os.setsid()
    fcntl.ioctl(terminal, 0x540E, 0)
    fcntl.ioctl(terminal, 0x5412, b"x")
    return True


@attempt("kernel", "calls of the old kind (int 0x80)")
def _():
    import mmap
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # getpid of 32 bits: mov eax, 20; int 0x80; ret. Registers that C keeps are not touched.
    page.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(start)() == os.getpid()


# --- what a loopback must still do
@attempt("use", "a server and a client of its own")
def _():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname(), 3)
        accepted, _ = server.accept()
        accepted.sendall(b"own")
        return client.recv(8) == b"own"


def run(act):
    ready, ready_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready)
        try:
            told = act()
            told = told if isinstance(told, str) else ("out" if told else "held")
        except OSError as error:
            told = errno.errorcode.get(error.errno, "error") if error.errno else "timeout"
        except BaseException as error:
            told = type(error).__name__
        os.write(ready_end, told.encode())
        os._exit(0)
    os.close(ready_end)
    heard, _, _ = select.select([ready], [], [], LIMIT_S)
    told = os.read(ready, 64).decode() if heard else "timeout"
    if not heard:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if not told and os.WIFSIGNALED(status):
        told = signal.Signals(os.WTERMSIG(status)).name
    os.close(ready)
    return told or "held"


# On a line of its own: an attempt may have written into what is printed.
print("\n" + json.dumps({name: run(act) for name, act in ATTEMPTS}))
