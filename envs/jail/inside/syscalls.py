"""The system calls a session may make, and the seccomp program that says so (x86-64 and aarch64, Linux).

An allow list: what is not named fails with EPERM, calls newer than the list with ENOSYS (so that a newer
libc takes its older path). It holds no fork, exec, socket, signal, mount or file-changing call.
"""

from __future__ import annotations

import errno
import struct

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FIRST_NEW = 424
"""Calls from this number on are numbered alike on every machine and are newer than Linux 5.0."""

ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # name: (x86-64, aarch64); None where the machine has no such call
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "lseek": (8, 62), "close": (3, 57), "close_range": (436, 436), "dup": (32, 23), "dup2": (33, None),
    "dup3": (292, 24), "stat": (4, None), "lstat": (6, None), "fstat": (5, 80), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "getdents64": (217, 61), "getcwd": (79, 17), "mmap": (9, 222), "mprotect": (10, 226),
    "munmap": (11, 215), "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "poll": (7, None), "ppoll": (271, 73), "select": (23, None),
    "pselect6": (270, 72), "futex": (202, 98), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None),
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getrandom": (318, 278),
    "exit": (60, 93), "exit_group": (231, 94), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "getrusage": (98, 165), "getrlimit": (97, 163), "times": (100, 153), "uname": (63, 160),
    "sysinfo": (99, 179), "restart_syscall": (219, 128), "set_robust_list": (273, 99), "rseq": (334, 293),
}  # fmt: skip
OPEN, OPENAT, FCNTL, IOCTL = (2, None), (257, 56), (72, 25), (16, 29)

WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000 | 0o20000000
"""Open flags that write: WRONLY, RDWR, CREAT, TRUNC, APPEND, TMPFILE."""
HARMLESS_FCNTL = (0, 1, 2, 3, 4, 1030)
"""DUPFD, GETFD, SETFD, GETFL, SETFL, DUPFD_CLOEXEC. SETOWN and SETSIG could signal other processes."""

_LOAD, _EQ, _GE, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF: ld, jeq, jge, jset, ret
_KILL, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_NUMBER, _ARCH = 0, 4  # offsets in struct seccomp_data


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _refuse(code: int) -> bytes:
    return _op(_RETURN, _ERRNO | code)


def _argument(index: int) -> bytes:
    """Load the low half of an argument; both machines are little-endian."""
    return _op(_LOAD, 16 + 8 * index)


def _when(number: int | None, body: list[bytes]) -> list[bytes]:
    """``body`` (which always returns) for one system call, skipped for all others."""
    return [] if number is None else [_op(_EQ, number, 0, len(body)), *body]


def _reading(flags_at: int, files: bool) -> list[bytes]:
    if not files:
        return [_refuse(errno.EPERM)]
    return [
        _argument(flags_at),
        _op(_ANY, WRITING, 1, 0),
        _op(_RETURN, _ALLOW),
        _refuse(errno.EPERM),
    ]


def program(machine: str, files: bool) -> bytes:
    """The filter as an array of ``struct sock_filter``.

    ``files``: may files be opened for reading (False where Landlock cannot say which). Raises ``OSError``
    (ENOSYS) for a machine that is not in ``AUDIT_ARCH``.
    """
    if machine not in AUDIT_ARCH:
        raise OSError(errno.ENOSYS, f"no system call numbers for {machine!r}, only {sorted(AUDIT_ARCH)}")
    column = sorted(AUDIT_ARCH, reverse=True).index(machine)
    ops = [_op(_LOAD, _ARCH), _op(_EQ, AUDIT_ARCH[machine], 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    ops += [_op(_GE, 0x40000000, 0, 1), _op(_RETURN, _KILL)]  # the x32 numbers would pass beside the list
    for numbers in ALLOWED.values():
        ops += _when(numbers[column], [_op(_RETURN, _ALLOW)])
    ops += _when(OPEN[column], _reading(1, files))
    ops += _when(OPENAT[column], _reading(2, files))
    commands = [op for number in HARMLESS_FCNTL for op in _when(number, [_op(_RETURN, _ALLOW)])]
    ops += _when(FCNTL[column], [_argument(1), *commands, _refuse(errno.EPERM)])
    ops += _when(IOCTL[column], [_refuse(errno.ENOTTY)])  # the answer of a plain file, which Python expects
    ops += [_op(_GE, FIRST_NEW, 0, 1), _refuse(errno.ENOSYS), _refuse(errno.EPERM)]
    return b"".join(ops)
