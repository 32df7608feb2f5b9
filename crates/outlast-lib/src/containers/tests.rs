//! What is asked of an engine, and of one that does not answer as it should.

use super::*;
use outlast_testkit::Home;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;

/// Answers one after the other, and sends what was asked.
fn engine(home: &Home, answers: Vec<String>) -> (String, mpsc::Receiver<String>) {
    let path = home.path().join("engine");
    let listener = UnixListener::bind(&path).expect("the home has room");
    let (asked, hears) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("it is bound");
            let mut head = [0; 1024];
            let count = stream.read(&mut head).expect("it is asked");
            let head = String::from_utf8_lossy(&head[..count]).into_owned();
            let line = head.lines().next().unwrap_or_default().to_owned();
            asked.send(line).expect("the test listens");
            stream.write_all(answer.as_bytes()).expect("it listens");
        }
    });
    (format!("unix://{}", path.display()), hears)
}

fn fine(body: &str) -> String {
    format!("HTTP/1.0 200 OK\r\n\r\n{body}")
}

#[test]
fn the_container_of_a_run_is_taken_away_and_told_whether_it_ran() {
    let home = Home::new();
    let id = RunId::parse("0123456789abcdef").expect("an id");
    let list = r#"[{"Id":"a1","Labels":{},"State":"running"},{"Id":"../x","State":"exited"}]"#;
    let answers = vec![fine(list), "HTTP/1.0 204 No Content\r\n\r\n".to_owned()];
    let (place, hears) = engine(&home, answers);
    let nobody = home.path().join("nobody").display().to_string();
    assert_eq!(
        clear_run(&[nobody, place], &id),
        Cleared { all: 1, running: 1 }
    );
    assert_eq!(
        hears.iter().collect::<Vec<_>>(),
        [
            "GET /containers/json?all=true&filters=%7B%22label%22%3A%5B%22outlast.run=0123456789abcdef%22%5D%7D HTTP/1.0",
            "DELETE /containers/a1?force=true&v=true HTTP/1.0",
        ]
    );
}

#[test]
fn only_what_belongs_to_a_dead_supervisor_goes_with_the_rest() {
    let home = Home::new();
    let own = owner::label(outlast_supervisor::process::own().pid);
    let dead = own.rsplit_once(' ').expect("four words").0;
    let list = format!(
        r#"[{{"Id":"a","Labels":{{"outlast.supervisor":"{own}"}}}},
            {{"Id":"b","Labels":{{"outlast.supervisor":"{dead} 1"}},"State":"exited"}},
            {{"Id":"c","Labels":{{}}}}]"#
    );
    let (place, hears) = engine(&home, vec![fine(&list), fine("")]);
    assert_eq!(
        clear_dead(&BTreeSet::from([place])),
        Cleared { all: 1, running: 0 }
    );
    let asked: Vec<String> = hears.iter().skip(1).collect();
    assert_eq!(asked, ["DELETE /containers/b?force=true&v=true HTTP/1.0"]);
}

#[test]
fn an_engine_that_refuses_or_talks_nonsense_is_passed_over() {
    let id = RunId::parse("0123456789abcdef").expect("an id");
    for answer in [
        "HTTP/1.0 500 No\r\n\r\n[]",
        "HTTP/1.0 200 OK\r\n\r\n{",
        "x",
        "",
    ] {
        let home = Home::new();
        let (place, _hears) = engine(&home, vec![answer.to_owned()]);
        assert_eq!(clear_run(&[place], &id), Cleared::default(), "{answer}");
    }
}
