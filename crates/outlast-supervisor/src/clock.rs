//! The clocks of this machine.

use outlast_journal::Timestamp;

/// Returns the wall-clock time.
pub fn now() -> Timestamp {
    Timestamp(crate::platform::clock::unix_ms())
}

/// Returns milliseconds of awake time since boot; it never jumps.
pub fn monotonic_ms() -> u64 {
    crate::platform::clock::monotonic_ms()
}
