//! Podman contains a run as docker does: as root by its service, and as an ordinary user.
//!
//! Where no podman can be started, a line says so.

use crate::contain_engine_daemon::{IMAGE, Kind};
use crate::contain_engine_ground::Ground;
use outlast_testkit::capture;
use serde_json::{Value, json};

mod heavy {
    use super::*;

    #[test]
    fn podman_contains_a_run_that_ends_as_its_command_and_leaves_no_container() {
        contains(Kind::Podman, &["--memory", "64MiB"]);
    }

    #[test]
    fn podman_of_an_ordinary_user_contains_a_run_as_that_of_root() {
        // Cgroups are not delegated to a user everywhere.
        contains(Kind::PodmanOfUser, &[]);
    }

    fn contains(kind: Kind, limits: &[&str]) {
        let Some(ground) = Ground::of(kind) else {
            return;
        };
        ground.contained.file(".git/config", "[core]\n");
        let text = "echo out; echo x > made; echo x > /bin/x; echo x > .git/config; exit 3";
        let (output, record) = ground.run(&[], text);
        assert_eq!(output.code, Some(3), "{output:#?}");
        assert!(output.stdout.contains("out\n"), "{output:#?}");
        assert!(ground.contained.work().join("made").exists());
        let posture = &record["posture"];
        assert_eq!(
            (&posture["backend"], &posture["image"]),
            (&json!("container"), &json!(IMAGE)),
            "{record:#}"
        );
        let missing = json!(["killed_with_supervisor"]);
        assert_eq!(posture["missing"], missing, "{record:#}");
        let refused = output.stdout.matches("Read-only file system").count();
        assert_eq!(refused, 2, "{output:#?}");
        assert_eq!(ground.containers(), Vec::<Value>::new());
        let id = ground.begin(limits, "touch up; sleep 3600");
        ground.wait_for("up");
        let done = ground.contained.json(&["cancel", "--json", &id]);
        assert_eq!(done["runs"][0]["status"], "cancelled", "{done:#}");
        let record = ground.ended(&id);
        assert_eq!(record["signal"], "TERM", "{record:#}");
        if !limits.is_empty() {
            let limit = json!({"value": 64 << 20, "enforced_by": "engine"});
            assert_eq!(record["posture"]["limits"]["memory"], limit, "{record:#}");
        }
        assert_eq!(ground.containers(), Vec::<Value>::new());
        let none = ["run", "--image", "localhost/none", "--", "true"];
        let refused = capture(ground.outlast(&none));
        assert_eq!(refused.code, Some(126), "{refused:#?}");
        assert!(
            refused.stderr.contains("`podman pull localhost/none`"),
            "{refused:#?}"
        );
    }
}
