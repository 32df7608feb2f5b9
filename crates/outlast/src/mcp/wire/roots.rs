//! The directories that a host works in, as hosts of the older revisions are asked for them.

use outlast_lib::limits;
use rmcp::{Peer, RoleServer};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::OnceCell, time::timeout};

/// What one host said, asked at the first need.
pub(super) struct Roots {
    said: Mutex<Arc<OnceCell<Arc<[String]>>>>,
}

impl Roots {
    /// Returns them before the host was asked.
    pub(super) fn new() -> Self {
        Self {
            said: Mutex::default(),
        }
    }

    /// Forgets what the host said, since it says something else now.
    pub(super) fn forget(&self) {
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Arc::default();
    }

    /// Returns the addresses of the host's roots; none where it has none to tell, or does not
    /// in time.
    pub(super) async fn of(&self, peer: &Peer<RoleServer>) -> Arc<[String]> {
        let has_roots = peer
            .peer_info()
            .is_some_and(|host| host.capabilities.roots.is_some());
        if !has_roots {
            return Arc::default();
        }
        let said = Arc::clone(&self.said.lock().unwrap_or_else(PoisonError::into_inner));
        let told = said.get_or_init(|| ask(peer)).await;
        Arc::clone(told)
    }
}

#[expect(
    deprecated,
    reason = "hosts of the older revisions tell it in no other way"
)]
async fn ask(peer: &Peer<RoleServer>) -> Arc<[String]> {
    let patience = Duration::from_millis(limits::ROOTS_MS);
    match timeout(patience, peer.list_roots()).await {
        Ok(Ok(told)) => {
            let roots = told.roots.into_iter().take(limits::ROOTS_MAX);
            roots.map(|root| root.uri).collect()
        }
        Ok(Err(_)) | Err(_) => Arc::default(),
    }
}
