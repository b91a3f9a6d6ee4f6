//! A ticket or link as a picture on a terminal, for the camera of a phone.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use crate::output;

/// Black on white, whatever the terminal's colours: readers of such codes want the dark parts dark.
const BLACK_ON_WHITE: &str = "\x1b[38;5;16;48;5;231m";
const AS_BEFORE: &str = "\x1b[0m";

/// Print the code of a text if standard output is a terminal that is wide enough, and else say why not.
pub(super) fn show(text: &str) {
    let Some((columns, _)) = output::terminal() else {
        output::say("its QR code is not shown, because standard output is no terminal");
        return;
    };
    match draw(text, columns) {
        // Who closed the terminal does not look at it.
        Ok(picture) => drop(output::write(&picture)),
        Err(why) => output::say(why),
    }
}

/// The code of a text in lines of so many columns at most, or in words why there is none.
fn draw(text: &str, columns: usize) -> Result<String, String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L);
    let code = code.map_err(|error| format!("it makes no QR code ({error})"))?;
    let picture = code.render::<Dense1x2>().quiet_zone(true).build();
    let needed = picture.lines().next().map_or(0, |line| line.chars().count());
    if needed > columns {
        return Err(format!(
            "its QR code needs {needed} columns, and this terminal has {columns}: make the window wider or its letters \
             smaller"
        ));
    }
    let lines = picture
        .lines()
        .map(|line| format!("{BLACK_ON_WHITE}{line}{AS_BEFORE}\n"));
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use qrcode::Color;

    use super::*;

    /// The quiet zone around a code, in its squares.
    const QUIET: usize = 4;

    /// The squares in a picture, dark ones true: each character has one above another.
    fn squares(picture: &str) -> Vec<Vec<bool>> {
        let lines = picture.lines().map(|line| {
            let line = line.strip_prefix(BLACK_ON_WHITE).expect("black on white");
            line.strip_suffix(AS_BEFORE).expect("the end of it")
        });
        let both = lines.flat_map(|line| {
            let upper = line.chars().map(|block| matches!(block, '█' | '▀')).collect();
            let lower = line.chars().map(|block| matches!(block, '█' | '▄')).collect();
            [upper, lower]
        });
        both.collect()
    }

    #[test]
    fn the_squares_on_the_terminal_are_those_of_the_code() {
        let link = "https://192.0.2.7:9443/#sealcast://192.0.2.7:9443/mfrggzdfmztwq2lk?transport=https%23invite";
        let code = QrCode::with_error_correction_level(link, EcLevel::L).expect("short");
        let (width, colors) = (code.width(), code.to_colors());
        let drawn = squares(&draw(link, width + 2 * QUIET).expect("it just fits"));
        for (y, row) in drawn.iter().enumerate() {
            assert_eq!(row.len(), width + 2 * QUIET);
            for (x, dark) in row.iter().enumerate() {
                let within = (QUIET..QUIET + width).contains(&x) && (QUIET..QUIET + width).contains(&y);
                let expected = within && colors[(y - QUIET) * width + x - QUIET] == Color::Dark;
                assert_eq!(*dark, expected, "column {x}, row {y}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_said_with_how_wide_it_is() {
        let why = draw(&"x".repeat(400), 40).expect_err("too wide");
        assert!(why.contains("needs 77 columns, and this terminal has 40"), "{why}");
        assert!(
            draw(&"x".repeat(4000), 4000)
                .expect_err("too long")
                .contains("makes no QR code")
        );
    }
}
