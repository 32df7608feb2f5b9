//! What the calls of an agent run may touch, as its document and the answer to its start say it.

use crate::{Posture, Spec, Tier};
use serde::Serialize;

/// What the calls of an agent run may touch. The first seven fields are always there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sandbox {
    /// `contained`, or `host` where nothing contains the calls.
    pub mode: String,
    /// Image of the container.
    pub image: Option<String>,
    /// `none`, `allow:HOST,…` or `full`.
    pub network: String,
    /// `ReadOnly`, `SandboxEdit` or `FullAccess`.
    pub tier: String,
    /// The workspace.
    pub root: Option<String>,
    /// How the workspace is mounted: `rw` or `ro`.
    pub mount: Option<String>,
    /// Why less was bound than is best, if so.
    pub fallback_notice: Option<String>,
    /// What contains the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// What was seen to hold, from inside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guarantees: Vec<String>,
    /// What was asked for and does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl Sandbox {
    /// Returns what this posture says, which was bound for a run in `root`, or only asked for.
    pub fn of_posture(posture: &Posture, root: &str) -> Self {
        Self {
            mode: posture.mode.clone(),
            image: posture.image.clone(),
            network: posture.network.clone(),
            tier: posture.tier.clone(),
            root: posture.root.clone().or_else(|| Some(root.to_owned())),
            mount: posture.mount.clone().or_else(|| Some("rw".to_owned())),
            fallback_notice: posture.fallback_notice.clone(),
            backend: posture.backend.clone(),
            guarantees: posture.guarantees.clone(),
            missing: posture.missing.clone(),
        }
    }

    /// Returns what holds for the calls of the run of `spec`, whose posture is `posture`.
    pub fn of(spec: &Spec, posture: &Posture) -> Self {
        let mut sandbox = Self::of_posture(posture, &spec.cwd);
        let agent = spec.agent.as_deref();
        if agent.is_some_and(|agent| agent.request.is_local) {
            // Nothing is bound and nothing needs to be: the worker reads, and runs no process.
            Tier::ReadOnly.as_str().clone_into(&mut sandbox.tier);
            "none".clone_into(&mut sandbox.network);
            sandbox.mount = Some("ro".to_owned());
        }
        sandbox
    }
}
