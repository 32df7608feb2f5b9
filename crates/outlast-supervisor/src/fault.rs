//! Named points at which a debug build can be made to die, to test what then holds.
//!
//! `OUTLAST_FAULT=NAME` in the environment of the process kills it at that
//! point, as the kernel would. Release builds have no such points.

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

/// Environment variable that arms a point.
#[cfg(debug_assertions)]
pub const VARIABLE: &str = "OUTLAST_FAULT";
