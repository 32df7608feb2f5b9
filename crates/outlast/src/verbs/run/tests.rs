//! The exit code of a start that failed cannot be taken for the code of a run.

use super::*;
use outlast_lib::RequestError;

fn could_not_start(code: &str) -> StartError {
    StartError::CouldNotStart {
        id: crate::sample::id("m3qd"),
        failure: outlast_journal::Failure {
            code: code.to_owned(),
            message: "no".to_owned(),
            errno: None,
        },
    }
}

#[test]
fn a_command_that_could_not_start_has_the_code_a_shell_would_give() {
    assert_eq!(
        start_failure(&could_not_start("no_such_program")).exit(),
        127
    );
    for code in [
        "not_executable",
        "work_dir",
        "no_interpreter",
        "exec_format",
    ] {
        assert_eq!(start_failure(&could_not_start(code)).exit(), 126);
    }
    let no_shell = StartError::NoShell { pipefail: false };
    assert_eq!(start_failure(&no_shell).exit(), 126);
}

#[test]
fn a_refusal_is_an_error_and_a_wrong_request_one_of_usage() {
    let refused = StartError::DepthExceeded {
        depth: 4,
        depth_max: 3,
    };
    assert_eq!(start_failure(&refused).exit(), 1);
    let request = StartError::Request(RequestError::EmptyCommand);
    assert_eq!(start_failure(&request).exit(), 2);
}
