//! Progress of a call that waits: a sign of life for hosts that would give up.

use outlast_lib::limits;
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use std::{convert::Infallible, future::pending, time::Duration};
use tokio::time::{Instant, timeout};

/// Where the progress of one call is told.
pub(super) struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl Progress {
    /// Returns where to tell it, if the request asks for it.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        Some(Self {
            token: context.meta.get_progress_token()?,
            peer: context.peer.clone(),
        })
    }

    /// Tells for how long the call has waited, each time more, until it is dropped.
    pub(super) async fn tell(progress: Option<Self>) -> Infallible {
        let Some(Self { peer, token }) = progress else {
            return pending().await;
        };
        let begun = Instant::now();
        let period = Duration::from_millis(limits::PROGRESS_MS);
        let mut is_heard = true;
        while is_heard {
            // From one notice to the next: a clock that ticks would make up for a late one.
            timeout(period, pending::<()>()).await.ok();
            let secs = begun.elapsed().as_secs();
            let news = ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64())
                .with_message(format!("waiting for {secs} s"));
            is_heard = peer.notify_progress(news).await.is_ok();
        }
        pending().await
    }
}
