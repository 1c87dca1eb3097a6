// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The switch with nodes that are made up: each is a stream.

use super::*;

const EVERYBODY: u8 = 0xff;
const LIMIT: Duration = Duration::from_secs(20);

struct Scene {
    switch: Switch,
    nodes: Vec<UnixStream>,
    _scratch: tempfile::TempDir,
}

impl Scene {
    fn new(ports: u8) -> Scene {
        let scratch = tempfile::tempdir().expect("scratch");
        let switch = Switch::start(scratch.path(), ports).expect("switch");
        let nodes = (1..=ports).map(|port| connect(&switch, port)).collect();
        Scene { switch, nodes, _scratch: scratch }
    }

    fn send(&mut self, from: u8, to: u8, word: &str) {
        let frame = frame(from, to, word);
        let node = &mut self.nodes[usize::from(from) - 1];
        node.write_all(&(frame.len() as u32).to_be_bytes()).expect("length");
        node.write_all(&frame).expect("frame");
    }

    /// The next word that a node hears.
    fn hears(&mut self, port: u8) -> String {
        let frame = read(&mut self.nodes[usize::from(port) - 1]).expect("a frame");
        String::from_utf8_lossy(&frame[SHORTEST..]).into_owned()
    }

    /// Each node tells all others its address.
    fn introduce(&mut self) {
        let ports = self.nodes.len() as u8;
        for from in 1..=ports {
            self.send(from, EVERYBODY, "hello");
            for to in (1..=ports).filter(|to| *to != from) {
                assert_eq!(self.hears(to), "hello");
            }
        }
    }

    fn await_counts(&self, port: u8, right: impl Fn(Counts) -> bool) {
        let until = Instant::now() + LIMIT;
        while !right(self.switch.counts(port)) {
            assert!(Instant::now() < until, "port {port}: {:?}", self.switch.counts(port));
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn connect(switch: &Switch, port: u8) -> UnixStream {
    let node = UnixStream::connect(switch.socket(port)).expect("connects");
    node.set_read_timeout(Some(LIMIT)).expect("limit");
    let until = Instant::now() + LIMIT;
    while locked(&switch.port(port).node).is_none() {
        assert!(Instant::now() < until, "port {port} does not serve");
        thread::sleep(Duration::from_millis(1));
    }
    node
}

fn frame(from: u8, to: u8, word: &str) -> Vec<u8> {
    let address = |port: u8| if port == EVERYBODY { [0xff; 6] } else { [2, 0, 0, 0, 0, port] };
    [&address(to)[..], &address(from), &[0x88, 0xb5], word.as_bytes()].concat()
}

#[test]
fn a_frame_goes_where_its_address_is() {
    let mut scene = Scene::new(3);
    scene.introduce();
    scene.send(1, 3, "for three");
    scene.send(1, EVERYBODY, "for all");
    assert_eq!(scene.hears(3), "for three");
    // the second node has heard nothing of the first frame
    assert_eq!(scene.hears(2), "for all");
    assert_eq!(scene.hears(3), "for all");
    let one = scene.switch.counts(1);
    assert_eq!((one.received, one.dropped, one.lost), (3, 0, 0));
}

#[test]
fn a_rule_drops_each_second_frame_between_two_ports_and_counts_it() {
    let mut scene = Scene::new(3);
    scene.introduce();
    scene.switch.set_rules(&[Rule { from: Some(1), to: Some(2), drop_each: 2, ..Rule::default() }]);
    for word in ["a", "b", "c", "d"] {
        scene.send(1, 2, word);
        scene.send(3, 2, word);
    }
    let mut heard: Vec<String> = (0..6).map(|_| scene.hears(2)).collect();
    heard.sort();
    assert_eq!(heard, ["a", "a", "b", "c", "c", "d"]);
    // the second node may have heard all before the switch took the first one's last frame
    scene.await_counts(2, |counts| counts.dropped == 2);
    scene.switch.set_rules(&[]);
    scene.send(1, 2, "again");
    assert_eq!(scene.hears(2), "again");
}

#[test]
fn a_delayed_frame_is_not_early() {
    let mut scene = Scene::new(2);
    let delay = Duration::from_millis(200);
    scene.switch.set_rules(&[Rule { delay, ..Rule::default() }]);
    let start = Instant::now();
    scene.send(1, 2, "late");
    assert_eq!(scene.hears(2), "late");
    assert!(start.elapsed() >= delay);
}

#[test]
fn another_node_may_take_a_port() {
    let mut scene = Scene::new(2);
    scene.introduce();
    scene.nodes[1].shutdown(Shutdown::Both).expect("ends");
    let until = Instant::now() + LIMIT;
    while locked(&scene.switch.port(2).node).is_some() {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(1));
    }
    scene.send(1, 2, "to nobody");
    scene.await_counts(2, |counts| counts.lost == 1);
    scene.nodes[1] = connect(&scene.switch, 2);
    scene.send(1, 2, "to the new one");
    assert_eq!(scene.hears(2), "to the new one");
}

#[test]
fn a_node_that_does_not_read_holds_up_no_other() {
    let mut scene = Scene::new(3);
    scene.introduce();
    let long = "x".repeat(60 << 10);
    for _ in 0..2 * QUEUE {
        scene.send(1, 2, &long);
    }
    scene.send(1, 3, "past it");
    assert_eq!(scene.hears(3), "past it");
    assert!(scene.switch.counts(2).lost > 0);
}

#[test]
fn a_length_that_no_frame_has_ends_that_connection_alone() {
    let mut scene = Scene::new(3);
    scene.introduce();
    for length in [0_u32, 13, u32::MAX] {
        scene.nodes[0].write_all(&length.to_be_bytes()).expect("writes");
        assert!(read(&mut scene.nodes[0]).is_err(), "{length}");
        scene.nodes[0] = connect(&scene.switch, 1);
    }
    scene.send(2, 3, "all is well");
    assert_eq!(scene.hears(3), "all is well");
}
