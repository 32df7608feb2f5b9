//! How a label is read.

use super::*;

#[test]
fn only_an_owner_that_is_known_to_be_dead_is_dead() {
    let own = label(process::own().pid);
    assert!(!is_dead(&own));
    let (boot, namespace) = (process::boot_id(), process::pid_namespace());
    assert!(is_dead(&format!(
        "{boot} {namespace} {} 1",
        process::own().pid
    )));
    assert!(!is_dead(&format!("{boot} 1 {} 1", process::own().pid)));
    assert!(!is_dead("something else"));
}
