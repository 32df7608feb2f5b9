//! `outlast man` and `outlast completions`: what other programs install.

use crate::{
    cli::{Cli, CompletionsArguments, ManArguments, ShellWord},
    completions,
    failure::{Failure, Stop, exit},
    surface::Surface,
};
use clap::CommandFactory;
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use std::env;
use std::path::Path;

/// Prints the manual page of the program, or of one verb.
pub(crate) fn man(surface: &mut Surface, arguments: &ManArguments) -> Result<u8, Stop> {
    let mut program = Cli::command();
    program.build();
    let source = format!("outlast {}", env!("CARGO_PKG_VERSION"));
    let (title, page) = match &arguments.verb {
        None => ("outlast".to_owned(), program),
        Some(verb) => {
            let found = program.find_subcommand(verb).cloned();
            let found = found.ok_or_else(|| {
                let message = format!("there is no verb `{verb}`");
                Failure::plain("usage", message, "see `outlast --help`", exit::USAGE)
            })?;
            (format!("outlast-{verb}"), found)
        }
    };
    let page = clap_mangen::Man::new(page).title(title).source(source);
    page.render(surface.screen.writer())?;
    surface.screen.print("")?;
    Ok(exit::FINE)
}

/// Prints the script by which a shell asks this program what it could complete.
pub(crate) fn completions(
    surface: &mut Surface,
    arguments: &CompletionsArguments,
) -> Result<u8, Stop> {
    let shell: &dyn EnvCompleter = match arguments.shell {
        ShellWord::Bash => &Bash,
        ShellWord::Zsh => &Zsh,
        ShellWord::Fish => &Fish,
    };
    let program = program();
    let out = surface.screen.writer();
    shell.write_registration(completions::VARIABLE, "outlast", "outlast", &program, out)?;
    surface.screen.print("")?;
    Ok(exit::FINE)
}

/// Returns how to call this program again: by its name if that is how it was called.
fn program() -> String {
    let called = env::args_os().next().unwrap_or_else(|| "outlast".into());
    let has_folder = Path::new(&called).components().count() > 1;
    let path = if has_folder {
        env::current_exe().ok()
    } else {
        None
    };
    path.unwrap_or_else(|| called.into())
        .to_string_lossy()
        .into_owned()
}
