//! Addresses of roots, and which of them a call is about.

use super::*;

#[test]
fn an_address_of_a_file_of_this_machine_is_a_path() {
    let path = |uri: &str| path(uri).map(|path| path.to_string_lossy().into_owned());
    assert_eq!(path("file:///a/b"), Some("/a/b".to_owned()));
    assert_eq!(path("file://localhost/a"), Some("/a".to_owned()));
    assert_eq!(path("file:///a%20b/%C3%A9"), Some("/a b/é".to_owned()));
    for wrong in [
        "",
        "/a",
        "http://a/b",
        "file://host/a",
        "file:///%4",
        "file:///%zz",
    ] {
        assert_eq!(path(wrong), None, "{wrong}");
    }
}

#[test]
fn the_directory_of_the_server_counts_where_it_lies_in_a_root_else_the_first_root() {
    let roots = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let two = roots(&["file:///usr", "file:///etc"]);
    let at = |roots: &[String], dir: &str| base(roots, Path::new(dir));
    assert_eq!(at(&two, "/etc/ssl"), Some(PathBuf::from("/etc/ssl")));
    assert_eq!(at(&two, "/"), Some(PathBuf::from("/usr")));
    assert_eq!(at(&roots(&["file:///no/such", "x"]), "/etc"), None);
    assert_eq!(at(&[], "/etc"), None);
}
