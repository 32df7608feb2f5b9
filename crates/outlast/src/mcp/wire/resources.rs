//! Resources as the protocol writes them.

use super::offer::{Content, Resource};
use rmcp::{
    ErrorData,
    model::{
        ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
        ReadResourceResult, Resource as Listed, ResourceContents, ResourceTemplate,
    },
};

/// Refuses a place in a list to go on from: lists here have one page.
pub(super) fn check_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params(
            "`cursor` is of no list of this server; leave it out",
            None,
        )),
    }
}

/// Returns the answer that lists resources.
pub(super) fn list(resources: Vec<Resource>) -> ListResourcesResult {
    let listed = resources.into_iter().map(|resource| {
        Listed::new(resource.uri, resource.name)
            .with_description(resource.description)
            .with_mime_type(resource.mime)
    });
    ListResourcesResult::with_all_items(listed.collect())
}

/// Returns the answer that lists the forms of resources.
pub(super) fn templates(templates: Vec<Resource>) -> ListResourceTemplatesResult {
    let listed = templates.into_iter().map(|template| {
        ResourceTemplate::new(template.uri, template.name)
            .with_description(template.description)
            .with_mime_type(template.mime)
    });
    ListResourceTemplatesResult::with_all_items(listed.collect())
}

/// Returns the answer that brings a resource.
pub(super) fn content(uri: String, content: Content) -> ReadResourceResult {
    let contents = ResourceContents::text(content.text, uri).with_mime_type(content.mime);
    ReadResourceResult::new(vec![contents])
}
