//! Named points at which a debug build can be made to die, to test what then holds.
//!
//! `OUTLAST_FAULT=NAME` in the environment of the process kills it at that
//! point, as the kernel would. `OUTLAST_FAULT=clock@FILE` shifts the wall clock by what
//! the file says at that moment. Release builds have no such points.

/// Dies here if this point is armed.
#[cfg(debug_assertions)]
pub fn point(name: &str) {
    if is_armed(name) {
        crate::platform::process::die();
    }
}

/// Returns whether the point `name` is armed.
#[cfg(debug_assertions)]
pub fn is_armed(name: &str) -> bool {
    std::env::var_os(VARIABLE).is_some_and(|armed| armed == name)
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub fn point(_name: &str) {}

/// Returns false in a release build.
#[cfg(not(debug_assertions))]
pub fn is_armed(_name: &str) -> bool {
    false
}

/// Returns by how many milliseconds the wall clock is made to differ from the machine's.
#[cfg(debug_assertions)]
pub fn clock_shift_ms() -> i64 {
    let armed = std::env::var(VARIABLE).unwrap_or_default();
    let file = armed.strip_prefix("clock@");
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Returns 0 in a release build.
#[cfg(not(debug_assertions))]
pub fn clock_shift_ms() -> i64 {
    0
}

/// Environment variable that arms a point.
#[cfg(debug_assertions)]
pub const VARIABLE: &str = "OUTLAST_FAULT";
