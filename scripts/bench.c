// Small programs that scripts/bench measures with, in one file. Linked statically, so that
// they begin at once.
//
//   bench stamp FILE     append the monotonic time in ns at which this program began to run
//   bench spew BYTES     write so many bytes of 80-byte lines, as fast as it can
//   bench lap PROGRAM…   run PROGRAM and print when that began and what it took, in ns
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int stamp(const char *file, long long began) {
    char line[32];
    int length = snprintf(line, sizeof line, "%lld\n", began);
    int f = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    return f >= 0 && write(f, line, length) == length ? 0 : 1;
}

static int spew(long left) {
    static char block[65520];
    for (size_t i = 0; i < sizeof block; i++) block[i] = i % 80 == 79 ? '\n' : 'a' + i % 26;
    while (left > 0) {
        long n = write(1, block, left < (long)sizeof block ? left : (long)sizeof block);
        if (n <= 0) return 1;
        left -= n;
    }
    return 0;
}

static long long took(char **argv) {
    long long began = now();
    int status = 0;
    pid_t pid = vfork();
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? now() - began : -1;
}

static int lap(char **argv) {
    int out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
    long long began = now(), ns = took(argv);
    dprintf(out, "%lld %lld\n", began, ns);
    return ns < 0;
}

int main(int argc, char **argv) {
    long long began = now();
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "stamp")) return stamp(argv[2], began);
    if (!strcmp(argv[1], "spew")) return spew(atol(argv[2]));
    if (!strcmp(argv[1], "lap")) return lap(argv + 2);
    return 2;
}
