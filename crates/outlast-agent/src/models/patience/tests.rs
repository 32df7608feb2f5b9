//! Pauses grow, spread, keep to what the provider asks for, and end.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn pause(attempt: u32, after: Option<Duration>, chance: u32) -> Option<Duration> {
    Patience::default().wait(attempt, Duration::ZERO, after, chance)
}

#[test]
fn pauses_double_up_to_their_longest_and_spread_over_their_half() {
    let whole: Vec<_> = (1..=11)
        .map(|attempt| pause(attempt, None, u32::MAX).expect("a pause").as_millis())
        .collect();
    assert_eq!(
        whole,
        [
            500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000
        ]
    );
    let half = pause(3, None, 0).expect("a pause");
    assert_eq!(half, SECOND);
    let between = pause(3, None, u32::MAX / 2).expect("a pause");
    assert!(between > half && between < 2 * SECOND);
}

#[test]
fn what_the_provider_asks_for_counts_where_it_is_longer() {
    assert_eq!(pause(1, Some(7 * SECOND), 0), Some(7 * SECOND));
    assert_eq!(pause(1, Some(Duration::ZERO), u32::MAX), Some(SECOND / 2));
}

#[test]
fn attempts_and_time_end() {
    assert_eq!(pause(24, None, 0), None);
    assert!(pause(23, None, 0).is_some());
    let patience = Patience::default();
    let wait = |elapsed| patience.wait(1, elapsed, Some(10 * SECOND), 0);
    assert_eq!(wait(590 * SECOND), Some(10 * SECOND));
    assert_eq!(wait(591 * SECOND), None);
    assert_eq!(pause(1, Some(Duration::MAX), 0), None);
}
