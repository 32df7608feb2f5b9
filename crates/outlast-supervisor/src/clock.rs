//! The clocks of this machine.

use crate::fault;
use outlast_journal::Timestamp;

/// Returns the wall-clock time.
pub fn now() -> Timestamp {
    let unix_ms = crate::platform::clock::unix_ms();
    Timestamp(unix_ms.saturating_add_signed(fault::clock_shift_ms()))
}

/// Returns milliseconds of awake time since boot; it never jumps.
pub fn monotonic_ms() -> u64 {
    crate::platform::clock::monotonic_ms()
}
