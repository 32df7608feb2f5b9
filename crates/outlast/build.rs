//! Links the program at a fixed address, so that supervisors share nearly all of its pages.
//!
//! Only where that is sound: a static-pie target builds with it and crashes at
//! start. Why it is a link argument and nothing else: docs/decisions/0001-non-pie.md.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let value = |name: &str| env::var(name).unwrap_or_default();
    let features = value("CARGO_CFG_TARGET_FEATURE");
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    let is_glibc =
        value("CARGO_CFG_TARGET_OS") == "linux" && value("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_glibc && !is_static {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
