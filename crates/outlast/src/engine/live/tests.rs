//! How an engine's exit code is read.

use super::wait_status;

#[test]
fn a_signal_is_told_where_it_is_known_to_have_been_sent() {
    for (code, sent, was_out_of_memory, status) in [
        (0, &[][..], false, 0),
        (3, &[], false, 3 << 8),
        (143, &[15], false, 15),
        (143, &[], false, 143 << 8),
        (137, &[15, 9], false, 9),
        (137, &[], true, 9),
        (139, &[], true, 139 << 8),
    ] {
        assert_eq!(wait_status(code, sent, was_out_of_memory), status, "{code}");
    }
}
