//! `outlast config`: where the configuration is and what holds.

use crate::{
    cli::JsonArguments,
    config::agent,
    document::Configuration,
    failure::{Stop, exit},
    look::pad,
    policy, sandbox,
    surface::Surface,
};
use serde_json::Value;

/// Columns of the names.
const NAME_COLUMNS: usize = 18;

/// Prints the paths, each limit with where it comes from, and the rules for hosts.
pub(crate) fn config(surface: &mut Surface, arguments: &JsonArguments) -> Result<u8, Stop> {
    let config = surface.config()?;
    let store = surface.root()?;
    let settings = config.settings();
    if arguments.json {
        let document = Configuration::of(&config, &settings, &store);
        surface.screen.print_json(&document)?;
        return Ok(exit::FINE);
    }
    let path = config.path.as_ref().map(|path| path.display().to_string());
    let state = if config.is_there { "" } else { "  (not there)" };
    let path =
        path.unwrap_or_else(|| "nowhere: neither XDG_CONFIG_HOME nor HOME is set".to_owned());
    let mut lines = vec![
        format!("{}{path}{state}", pad("file", NAME_COLUMNS)),
        format!("{}{}", pad("store", NAME_COLUMNS), store.display()),
        String::new(),
        "[limits]".to_owned(),
    ];
    for setting in settings {
        let source = setting.source();
        let value = pad(&format!("= {}", setting.value), NAME_COLUMNS);
        lines.push(format!(
            "{}{value}# {source}",
            pad(setting.name, NAME_COLUMNS)
        ));
    }
    if let Some(port) = config.serve_port {
        lines.push(String::new());
        lines.push("[serve]".to_owned());
        lines.push(format!("{}= {port}", pad("port", NAME_COLUMNS)));
    }
    if let Some(rules) = &config.rules {
        lines.push(String::new());
        lines.push(format!("[{}]", policy::TABLE));
        let settings = rules.settings();
        lines.extend(
            settings
                .iter()
                .map(|(name, value)| format!("{}= {value}", pad(name, NAME_COLUMNS))),
        );
    }
    lines.extend([String::new(), format!("[{}]", sandbox::TABLE)]);
    for key in sandbox::KEYS {
        let value = config.sandbox.value(key);
        lines.push(format!("{}= {value}", pad(key, NAME_COLUMNS)));
    }
    lines.extend([String::new(), format!("[{}]", agent::TABLE)]);
    for key in agent::KEYS {
        let value = match config.agent.value(key) {
            Value::Null => String::new(),
            Value::String(text) => text,
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                other.to_string()
            }
        };
        lines.push(format!("{}= {value}", pad(key, NAME_COLUMNS)));
    }
    lines.push(String::new());
    surface.screen.print(&lines.join("\n"))?;
    Ok(exit::FINE)
}
