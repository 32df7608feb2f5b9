//! Signals by name and number.
//!
//! The numbers are those of Linux. A name stands in records without its SIG.

/// Signals by name without SIG, as Linux numbers them.
const SIGNALS: [(&str, u8); 29] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// Returns the number of a signal from its name, with or without SIG, or from its number.
pub fn signal_number(name: &str) -> Option<u8> {
    let upper = name.to_ascii_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = SIGNALS.iter().find(|(known, _)| *known == short);
    known.map(|(_, number)| *number).or_else(|| {
        short
            .parse()
            .ok()
            .filter(|number| (1..=64).contains(number))
    })
}

/// Returns the name of a signal without SIG; a real-time signal is named by its number.
pub fn signal_name(number: i32) -> String {
    SIGNALS
        .iter()
        .find(|(_, known)| i32::from(*known) == number)
        .map_or_else(|| number.to_string(), |(name, _)| (*name).to_owned())
}
