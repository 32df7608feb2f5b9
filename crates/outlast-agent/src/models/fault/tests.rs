//! How long a provider asks to be left alone is understood in each of its forms.

use super::*;
use reqwest::header::{HeaderName, HeaderValue};

fn asked(headers: &[(&'static str, &str)]) -> Option<Duration> {
    let headers = headers.iter().map(|(name, value)| {
        let value = HeaderValue::from_str(value).expect("a header's value");
        (HeaderName::from_static(name), value)
    });
    pause(&headers.collect())
}

#[test]
fn a_pause_is_asked_for_in_milliseconds_in_seconds_or_until_a_date() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(asked(&[]), None);
    assert_eq!(asked(&[("retry-after", "7")]), seconds(7));
    let both = [("retry-after", "7"), ("retry-after-ms", "1500")];
    assert_eq!(asked(&both), Some(Duration::from_millis(1_500)));
    for nothing in [
        "",
        "soon",
        "-3",
        "NaN",
        "1e400",
        "Sun, 99 Nov 1994 08:49:37 GMT",
    ] {
        assert_eq!(asked(&[("retry-after", nothing)]), None, "{nothing}");
    }

    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    let since = |date_of_answer| asked(&[("retry-after", date), ("date", date_of_answer)]);
    assert_eq!(since("Sun, 06 Nov 1994 08:49:07 GMT"), seconds(30));
    // What is over is over; from what time on a date counts nobody knows but who gives it.
    assert_eq!(since("Sun, 06 Nov 1994 09:00:00 GMT"), seconds(0));
    assert_eq!(asked(&[("retry-after", date)]), None);
}
