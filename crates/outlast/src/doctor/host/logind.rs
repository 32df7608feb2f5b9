//! Whether logind kills what a session leaves, from its configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Folders of the configuration, the weaker ones first.
const FOLDERS: [&str; 4] = [
    "/usr/lib/systemd",
    "/usr/local/lib/systemd",
    "/run/systemd",
    "/etc/systemd",
];

/// Returns the texts of logind's configuration in the order in which they count.
pub(super) fn read() -> Vec<String> {
    let main = FOLDERS
        .iter()
        .rev()
        .find_map(|folder| fs::read_to_string(Path::new(folder).join("logind.conf")).ok());
    // By name: a file in a stronger folder takes the place of its namesake.
    let mut drop_ins = BTreeMap::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(Path::new(folder).join("logind.conf.d"));
        for entry in entries.into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "conf") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                drop_ins.insert(entry.file_name(), text);
            }
        }
    }
    main.into_iter().chain(drop_ins.into_values()).collect()
}

/// Returns whether a configuration kills what a session of `user` leaves.
///
/// The last assignment counts; without one nothing is killed. Users that are
/// left out by name, and root by default, are not touched.
pub(super) fn kills_user_processes(texts: &[String], user: Option<&str>) -> bool {
    let mut kills = false;
    let mut only: Vec<String> = Vec::new();
    let mut except = vec!["root".to_owned()];
    for (key, value) in texts.iter().flat_map(|text| assignments(text)) {
        let names = || value.split_whitespace().map(str::to_owned).collect();
        match key {
            "KillUserProcesses" => {
                kills = matches!(
                    value.to_ascii_lowercase().as_str(),
                    "yes" | "true" | "on" | "1"
                );
            }
            "KillOnlyUsers" => only = names(),
            "KillExcludeUsers" => except = names(),
            _ => {}
        }
    }
    let is_named = |list: &[String]| user.is_some_and(|user| list.iter().any(|one| one == user));
    if is_named(&except) {
        return false;
    }
    // Those that are named are killed whatever the switch says.
    if only.is_empty() {
        kills
    } else {
        is_named(&only)
    }
}

fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
}
