//! Descriptors that travel over a socket.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Descriptors that one message may carry: lock, places, ticket.
pub(crate) const DESCRIPTORS_MAX: usize = 8;

/// Room for the control part of a message, aligned as the kernel wants it.
#[repr(C, align(8))]
struct ControlBuffer([u8; 128]);

/// Sends `bytes` and, with the first of them, `descriptors`.
pub(crate) fn send(
    socket: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let raw: Vec<libc::c_int> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    assert!(
        raw.len() <= DESCRIPTORS_MAX,
        "more descriptors than a start has"
    );
    let payload = u32::try_from(size_of_val(raw.as_slice())).unwrap_or(0);
    let mut control = ControlBuffer([0; 128]);
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    super::retry(|| {
        // SAFETY: the header points at `part` and `control`, which live through the call
        // and have the lengths given; the control buffer holds `DESCRIPTORS_MAX` numbers.
        unsafe {
            let mut header: libc::msghdr = mem::zeroed();
            header.msg_iov = &raw mut part;
            header.msg_iovlen = 1;
            if !raw.is_empty() {
                header.msg_control = control.0.as_mut_ptr().cast();
                header.msg_controllen = libc::CMSG_SPACE(payload) as usize;
                let first = libc::CMSG_FIRSTHDR(&raw const header);
                (*first).cmsg_level = libc::SOL_SOCKET;
                (*first).cmsg_type = libc::SCM_RIGHTS;
                (*first).cmsg_len = libc::CMSG_LEN(payload) as usize;
                std::ptr::copy_nonoverlapping(
                    raw.as_ptr().cast::<u8>(),
                    libc::CMSG_DATA(first),
                    payload as usize,
                );
            }
            libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL)
        }
    })
}

/// Receives bytes and the descriptors that came with them, closed by exec.
pub(crate) fn receive(socket: &UnixStream, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control = ControlBuffer([0; 128]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: a header of zeroes is valid.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len();
    // SAFETY: the header points at `part` and `control`, which live through the call.
    let read = super::retry(|| unsafe {
        libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC)
    })?;
    let mut descriptors = Vec::new();
    // SAFETY: the kernel filled the control buffer; the macros walk what it wrote, and
    // each descriptor is new and owned by nobody else.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&raw const header);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_RIGHTS {
                let length = (*at).cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(at);
                for index in 0..length / size_of::<libc::c_int>() {
                    let mut raw: libc::c_int = -1;
                    let from = data.add(index * size_of::<libc::c_int>());
                    let to = (&raw mut raw).cast::<u8>();
                    std::ptr::copy_nonoverlapping(from, to, size_of::<libc::c_int>());
                    descriptors.push(OwnedFd::from_raw_fd(raw));
                }
            }
            at = libc::CMSG_NXTHDR(&raw const header, at);
        }
    }
    Ok((read, descriptors))
}
