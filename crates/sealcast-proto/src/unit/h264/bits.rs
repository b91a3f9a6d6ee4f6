//! Reads bits of a raw byte sequence payload (RBSP): a NAL unit without its emulation prevention bytes.

use super::Refusal;

/// Number of zero bytes behind the data, so that eight bytes can be read at each position in it.
const PADDING: usize = 8;

/// The bytes of a NAL unit without its emulation prevention bytes, and where those were. The buffers are used again
/// for the next unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Rbsp {
    bytes: Vec<u8>,
    /// For each emulation prevention byte the index of the byte that follows it, in `bytes`.
    removed: Vec<u32>,
    /// The bit that ends the payload; the bits after it are 0.
    stop: usize,
}

impl Rbsp {
    /// Takes the bytes of a unit.
    ///
    /// # Errors
    /// [`Refusal::Broken`] without a bit that ends the payload, or with 512 MiB and more.
    pub(super) fn load(&mut self, unit: &[u8]) -> Result<(), Refusal> {
        self.bytes.clear();
        self.removed.clear();
        self.stop = 0;
        if unit.len() > (u32::MAX / 8) as usize {
            return Err(Refusal::Broken);
        }
        let (mut from, mut at) = (0, 0);
        while let Some(window) = unit.get(at..at + 3) {
            match window[2] {
                3 if window[..2] == [0, 0] => {
                    self.bytes.extend_from_slice(&unit[from..at + 2]);
                    self.removed.push(self.bytes.len() as u32);
                    at += 3;
                    from = at;
                }
                // No sequence that ends with this byte or begins before it.
                4.. => at += 3,
                _ => at += 1,
            }
        }
        self.bytes.extend_from_slice(&unit[from..]);
        let last = self.bytes.iter().rposition(|byte| *byte != 0).ok_or(Refusal::Broken)?;
        self.stop = last * 8 + 7 - self.bytes[last].trailing_zeros() as usize;
        self.bytes.truncate(last + 1);
        self.bytes.extend_from_slice(&[0; PADDING]);
        Ok(())
    }

    /// A reader from this bit of the payload on.
    pub(super) fn reader(&self, at: usize) -> BitReader<'_> {
        BitReader {
            bytes: &self.bytes,
            at,
            stop: self.stop,
        }
    }

    /// Turns positions in the payload into positions in the unit.
    pub(super) fn places(&self) -> Places<'_> {
        Places {
            removed: &self.removed,
            passed: 0,
        }
    }

    /// The bit of the payload at this bit of the unit.
    pub(super) fn bit_of(&self, place: usize) -> usize {
        let byte = place / 8;
        // The emulation prevention byte with index `i` was byte `removed[i] + i` of the unit.
        let before = self
            .removed
            .iter()
            .enumerate()
            .take_while(|(index, next)| **next as usize + index < byte);
        place - 8 * before.count()
    }
}

/// Turns positions in a payload into positions in the unit. They are asked for in ascending order.
pub(super) struct Places<'a> {
    removed: &'a [u32],
    passed: usize,
}

impl Places<'_> {
    /// The bit of the unit at this bit of the payload.
    pub(super) fn of(&mut self, bit: usize) -> usize {
        while let Some((next, rest)) = self.removed.split_first() {
            if *next as usize > bit / 8 {
                break;
            }
            self.removed = rest;
            self.passed += 1;
        }
        bit + 8 * self.passed
    }
}

/// Reads bits in order. Behind the end it reads zeros; [`check`](Self::check) tells.
#[derive(Clone, Copy)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
    stop: usize,
}

impl BitReader<'_> {
    /// Position in the payload, in bits.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// True if there is more before the bit that ends the payload: `more_rbsp_data`.
    pub(super) fn has_more(&self) -> bool {
        self.at < self.stop
    }

    /// Fails behind the end of the payload.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.at > self.stop {
            Err(Refusal::Broken)
        } else {
            Ok(())
        }
    }

    /// The next 57 bits or more, in the upper bits.
    #[inline]
    pub(super) fn peek(&self) -> u64 {
        let byte = self.at / 8;
        let word = match self.bytes.get(byte..byte + 8) {
            Some(bytes) => u64::from_be_bytes(bytes.try_into().unwrap_or_default()),
            None => 0,
        };
        word << (self.at % 8)
    }

    /// Skips bits.
    #[inline]
    pub(super) fn skip(&mut self, bits: usize) {
        self.at += bits;
    }

    /// Reads up to 32 bits: `u(n)`.
    #[inline]
    pub(super) fn read(&mut self, bits: usize) -> u32 {
        if bits == 0 {
            return 0;
        }
        let value = self.peek() >> (64 - bits);
        self.at += bits;
        value as u32
    }

    /// Reads a flag.
    #[inline]
    pub(super) fn flag(&mut self) -> bool {
        self.read(1) == 1
    }

    /// Reads an unsigned Exp-Golomb code: `ue(v)`.
    #[inline]
    pub(super) fn ue(&mut self) -> Result<u32, Refusal> {
        let word = self.peek();
        let zeros = word.leading_zeros() as usize;
        if zeros <= 28 {
            self.at += 2 * zeros + 1;
            return Ok(((word >> (63 - 2 * zeros)) - 1) as u32);
        }
        if zeros > 31 {
            return Err(Refusal::Broken);
        }
        self.at += zeros;
        Ok(self.read(zeros + 1) - 1)
    }

    /// Reads an unsigned Exp-Golomb code that is at most `most`.
    #[inline]
    pub(super) fn ue_to(&mut self, most: u32) -> Result<u32, Refusal> {
        self.ue()
            .and_then(|value| if value <= most { Ok(value) } else { Err(Refusal::Broken) })
    }

    /// Reads a signed Exp-Golomb code: `se(v)`.
    #[inline]
    pub(super) fn se(&mut self) -> Result<i32, Refusal> {
        let code = self.ue()?;
        let half = (code.div_ceil(2)) as i32;
        Ok(if code % 2 == 1 { half } else { half.wrapping_neg() })
    }

    /// Reads a truncated Exp-Golomb code for values up to `most`, at least 1: `te(v)`.
    #[inline]
    pub(super) fn te(&mut self, most: u32) -> Result<u32, Refusal> {
        if most == 1 {
            Ok(u32::from(!self.flag()))
        } else {
            self.ue_to(most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_its_unit_without_emulation_prevention_and_positions_lead_back() {
        let unit = [0, 0, 3, 1, 0xAB, 0, 0, 3, 0, 0, 3, 0x80, 0, 0];
        let mut rbsp = Rbsp::default();
        rbsp.load(&unit).expect("a payload");
        assert_eq!(rbsp.bytes[..8], [0, 0, 1, 0xAB, 0, 0, 0, 0]);
        assert_eq!(rbsp.bytes[8], 0x80);
        assert_eq!(rbsp.stop, 64);
        let mut places = rbsp.places();
        let bytes: Vec<usize> = (0..9).map(|byte| places.of(8 * byte + 3) / 8).collect();
        assert_eq!(bytes, [0, 1, 3, 4, 5, 6, 8, 9, 11]);
        for (byte, place) in bytes.into_iter().enumerate() {
            assert_eq!(rbsp.bit_of(8 * place + 5), 8 * byte + 5);
        }
    }

    #[test]
    fn a_unit_without_an_end_is_refused() {
        let mut rbsp = Rbsp::default();
        for unit in [&[][..], &[0], &[0, 0, 0], &[0, 0, 3]] {
            assert_eq!(rbsp.load(unit), Err(Refusal::Broken), "{unit:?}");
            assert_eq!(rbsp.reader(0).peek(), 0);
        }
    }

    #[test]
    fn codes_are_read_as_in_table_9_2() {
        // 1, 010, 011, 00100, 00101, 00110, 00111, 0001000 and padding.
        let mut rbsp = Rbsp::default();
        rbsp.load(&[0b1010_0110, 0b0100_0010, 0b1001_1000, 0b1110_0010, 0b0010_0000])
            .expect("a payload");
        let mut bits = rbsp.reader(0);
        assert_eq!([(); 8].map(|()| bits.ue()), [0, 1, 2, 3, 4, 5, 6, 7].map(Ok));
        assert!(bits.check().is_ok() && !bits.has_more());
        let mut bits = rbsp.reader(0);
        assert_eq!([(); 8].map(|()| bits.se()), [0, 1, -1, 2, -2, 3, -3, 4].map(Ok));
        bits.skip(100);
        assert_eq!((bits.ue(), bits.check()), (Err(Refusal::Broken), Err(Refusal::Broken)));
        rbsp.load(&[0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF]).expect("a payload");
        assert_eq!(rbsp.reader(0).ue(), Ok(u32::MAX - 1));
    }
}
