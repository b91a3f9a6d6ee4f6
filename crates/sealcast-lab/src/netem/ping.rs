//! Results of `ping`.

/// The summary at the end of `ping -q`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pings {
    /// Requests sent.
    pub sent: u32,
    /// Answers received, duplicates not included.
    pub received: u32,
    /// Duplicate answers.
    pub repeated: u32,
    /// Minimum round-trip time in milliseconds.
    pub least: f64,
    /// Mean round-trip time in milliseconds.
    pub mean: f64,
    /// Maximum round-trip time in milliseconds.
    pub most: f64,
    /// Standard deviation in milliseconds.
    pub spread: f64,
}

impl Pings {
    /// Share of the requests without an answer, from 0 to 1.
    pub fn loss(&self) -> f64 {
        1.0 - f64::from(self.received) / f64::from(self.sent.max(1))
    }

    /// Parses the summary of `ping -q` (iputils); `None` if there is none, or no request was answered.
    pub fn read(text: &str) -> Option<Self> {
        let counts = text.lines().find(|line| line.contains("packets transmitted"))?;
        let count = |word: &str| {
            let (before, _) = counts.split_once(word)?;
            before
                .trim_end_matches([' ', '+'])
                .rsplit([' ', '+'])
                .next()?
                .parse()
                .ok()
        };
        let times = text
            .lines()
            .find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "))?;
        let mut times = times.split(['/', ' ']).map_while(|time| time.parse().ok());
        Some(Self {
            sent: count("packets transmitted")?,
            received: count("received")?,
            repeated: count("duplicates").unwrap_or(0),
            least: times.next()?,
            mean: times.next()?,
            most: times.next()?,
            spread: times.next()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ping_says_is_read() {
        let text = "PING 10.77.0.2 (10.77.0.2) 56(84) bytes of data.\n\n--- 10.77.0.2 ping statistics ---\n\
                    500 packets transmitted, 455 received, +5 duplicates, 9% packet loss, time 1218ms\n\
                    rtt min/avg/max/mdev = 40.065/40.162/41.069/0.168 ms, pipe 2\n";
        let pings = Pings::read(text).expect("a summary");
        assert_eq!((pings.sent, pings.received, pings.repeated), (500, 455, 5));
        assert_eq!(
            (pings.least, pings.mean, pings.most, pings.spread),
            (40.065, 40.162, 41.069, 0.168)
        );
        assert!((pings.loss() - 0.09).abs() < 1e-9);
        assert_eq!(
            Pings::read("2 packets transmitted, 0 received, 100% packet loss, time 1022ms\n"),
            None
        );
    }
}
