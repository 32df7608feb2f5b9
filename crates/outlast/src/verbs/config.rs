//! `outlast config`: where the configuration is and what holds.

use crate::{
    cli::JsonArguments,
    failure::{Stop, exit},
    look::pad,
    surface::Surface,
};
use serde_json::{Map, Value, json};

/// Columns of the names.
const NAME_COLUMNS: usize = 18;

/// Prints the paths and each limit with where it comes from.
pub(crate) fn config(surface: &mut Surface, arguments: &JsonArguments) -> Result<u8, Stop> {
    let config = surface.config()?;
    let store = surface.root()?;
    let path = config.path.as_ref().map(|path| path.display().to_string());
    if arguments.json {
        let limits: Map<String, Value> = config
            .settings()
            .into_iter()
            .map(|setting| {
                let source = if setting.is_set { "file" } else { "default" };
                let shown = json!({ "value": setting.value, "source": source });
                (setting.name.to_owned(), shown)
            })
            .collect();
        surface.screen.print_json(&json!({
            "schema": "outlast.config/1",
            "path": path,
            "is_there": config.is_there,
            "store": store.to_string_lossy(),
            "limits": limits,
        }))?;
        return Ok(exit::FINE);
    }
    let state = if config.is_there { "" } else { "  (not there)" };
    let path =
        path.unwrap_or_else(|| "nowhere: neither XDG_CONFIG_HOME nor HOME is set".to_owned());
    let mut lines = vec![
        format!("{}{path}{state}", pad("file", NAME_COLUMNS)),
        format!("{}{}", pad("store", NAME_COLUMNS), store.display()),
        String::new(),
        "[limits]".to_owned(),
    ];
    for setting in config.settings() {
        let source = if setting.is_set { "file" } else { "default" };
        let value = pad(&format!("= {}", setting.value), NAME_COLUMNS);
        lines.push(format!(
            "{}{value}# {source}",
            pad(setting.name, NAME_COLUMNS)
        ));
    }
    lines.push(String::new());
    surface.screen.print(&lines.join("\n"))?;
    Ok(exit::FINE)
}
