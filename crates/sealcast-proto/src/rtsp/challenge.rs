//! Syntax of challenges and credentials in headers (RFC 7235 §2.1): a scheme and its parameters, possibly several in
//! one value.

/// Maximum number of challenges that are parsed from one header value.
const MAX_CHALLENGES: usize = 8;

/// A scheme with its parameters: a challenge, or the credentials that answer one.
#[derive(Default)]
pub(super) struct Challenge {
    pub(super) scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Returns the value of a parameter, without quotes.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let named = self
            .parameters
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    pub(super) fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }
}

/// Parses all challenges of a header value, up to the first syntax error.
pub(super) fn parse(value: &str) -> Vec<Challenge> {
    let mut challenges: Vec<Challenge> = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',', ';']);
        let end = rest.find([' ', '\t', ',', ';', '=', '"']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let spaceless = after.trim_start_matches([' ', '\t']);
        if name.is_empty() {
            return challenges;
        }
        if let (Some(after), Some(challenge)) = (spaceless.strip_prefix('='), challenges.last_mut()) {
            let (value, after) = parse_value(after.trim_start_matches([' ', '\t']));
            challenge.parameters.push((name.to_owned(), value));
            rest = after;
        } else if challenges.len() < MAX_CHALLENGES {
            challenges.push(Challenge {
                scheme: name.to_owned(),
                parameters: Vec::new(),
            });
            rest = after;
        } else {
            return challenges;
        }
    }
}

/// Parses a token or a quoted string, and returns it with the text after it.
fn parse_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',', ';']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
            letter => value.push(letter),
        }
    }
    (value, "")
}

/// Quotes a value, escaping quotes and backslashes.
pub(super) fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
