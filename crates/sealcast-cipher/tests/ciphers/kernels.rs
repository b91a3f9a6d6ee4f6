//! Every kernel is equal to its cipher's definition, for any alignment and splitting of the data, alone and in batches.

use sealcast_cipher::{Cipher, Facts, IMPLEMENTATIONS, Implementation, Kernel, Packet, Sizes, implementations_of, xor};
use sealcast_testkit::skips::skipped;

const LONGEST: usize = 4096;
/// The same for definitions, which are slow because they compute one block at a time.
const LONGEST_BY_DEFINITION: usize = 600;
const STREAMS: usize = 9;
const MOST_IN_BATCH: usize = 70;

/// SplitMix64, a deterministic generator, so that failures are reproducible.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    fn of(&mut self, sizes: Sizes) -> Vec<u8> {
        let sizes: Vec<usize> = sizes.iter().collect();
        let size = sizes[self.below(sizes.len())];
        self.bytes(size)
    }
}

/// Every kernel that this machine can run.
fn kernels() -> impl Iterator<Item = &'static Implementation> {
    IMPLEMENTATIONS.iter().filter(|one| (one.available)())
}

fn definition_of(one: &Implementation) -> &'static Implementation {
    let definition = implementations_of(one.facts.name)
        .next()
        .expect("it has at least this one");
    assert_eq!(definition.kernel, "definition");
    definition
}

fn by_definition(one: &Implementation, key: &[u8], iv: &[u8], data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    let study = (definition_of(one).load)(key).expect("a right size");
    study.keystream(iv).expect("a right size").xor(&mut data);
    data
}

/// Key and IV, and the beginning of their keystream as computed by the definition.
struct Stream {
    key: Vec<u8>,
    iv: Vec<u8>,
    bytes: Vec<u8>,
}

impl Stream {
    fn new(random: &mut Random, one: &Implementation, key: &[u8]) -> Self {
        let iv = random.of(one.facts.iv_bytes);
        Self {
            key: key.to_vec(),
            bytes: by_definition(one, key, &iv, &[0; LONGEST]),
            iv,
        }
    }
}

#[test]
fn any_length_alignment_and_split_gives_what_the_definition_gives() {
    let mut random = Random(1);
    for definition in kernels().filter(|one| one.kernel == "definition") {
        let keys: Vec<_> = (0..STREAMS).map(|_| random.of(definition.facts.key_bytes)).collect();
        let streams: Vec<_> = keys
            .iter()
            .map(|key| Stream::new(&mut random, definition, key))
            .collect();
        for one in implementations_of(definition.facts.name) {
            let longest = match one.kernel {
                "definition" => LONGEST_BY_DEFINITION,
                _ => LONGEST,
            };
            for length in 0..=longest {
                let mut case = Case::new(&mut random, &streams[length % STREAMS], length);
                let study = (one.load)(&case.stream.key).expect("a right size");
                let mut keystream = study.keystream(&case.stream.iv).expect("a right size");
                let mut rest = &mut case.buffer[case.offset..];
                while !rest.is_empty() {
                    let longest = [3, 17, 90, LONGEST][length % 4].min(rest.len());
                    let (piece, others) = rest.split_at_mut(random.below(longest + 1));
                    keystream.xor(piece);
                    rest = others;
                }
                let place = format!("{} {}, {length} bytes", one.facts.name, one.kernel);
                assert!(case.buffer == case.expected, "{place}");
            }
        }
    }
}

/// A packet at any alignment, before and after encryption.
struct Case<'a> {
    stream: &'a Stream,
    offset: usize,
    buffer: Vec<u8>,
    expected: Vec<u8>,
}

impl<'a> Case<'a> {
    fn new(random: &mut Random, stream: &'a Stream, length: usize) -> Self {
        let offset = random.below(9);
        let buffer = random.bytes(offset + length);
        let keyed = buffer[offset..].iter().zip(&stream.bytes).map(|(byte, key)| byte ^ key);
        let expected = buffer[..offset].iter().copied().chain(keyed).collect();
        Self {
            stream,
            offset,
            buffer,
            expected,
        }
    }
}

/// Batches of 0 to 70 packets, repeated until every length up to `LONGEST` was used, in an order that mixes short and
/// long packets.
#[test]
fn a_batch_is_each_packet_under_its_own_iv() {
    let mut random = Random(2);
    for cipher in kernels().filter(|one| one.kernel == "definition") {
        let key = random.of(cipher.facts.key_bytes);
        let streams: Vec<_> = (0..MOST_IN_BATCH)
            .map(|_| Stream::new(&mut random, cipher, &key))
            .collect();
        for one in implementations_of(cipher.facts.name).skip(1) {
            let study = (one.load)(&key).expect("a right size");
            // 1801 is a prime that does not divide the number of lengths, so each comes once.
            let mut lengths = (0..=LONGEST).map(|i| i * 1801 % (LONGEST + 1));
            for count in (0..=MOST_IN_BATCH).cycle() {
                let mut cases: Vec<_> = streams[..count]
                    .iter()
                    .zip(&mut lengths)
                    .map(|(stream, length)| Case::new(&mut random, stream, length))
                    .collect();
                let mut packets: Vec<_> = cases
                    .iter_mut()
                    .map(|case| Packet {
                        iv: &case.stream.iv,
                        data: &mut case.buffer[case.offset..],
                    })
                    .collect();
                study.xor_batch(&mut packets).expect("right sizes");
                for case in &cases {
                    let length = case.buffer.len() - case.offset;
                    let place = format!("{} {}, {count} packets, {length} bytes", one.facts.name, one.kernel);
                    assert!(case.buffer == case.expected, "{place}");
                }
                if cases.len() < count {
                    break;
                }
            }
        }
    }
}

/// More packets than half of the lanes of the widest kernel, and more than all of them, with short packets and IVs of
/// all sizes.
#[test]
fn a_batch_for_the_widest_lanes_is_each_packet_under_its_own_iv() {
    const FEWER: usize = 300;
    const PACKETS: usize = 530;
    let mut random = Random(3);
    for cipher in kernels().filter(|one| one.kernel == "definition") {
        let key = random.of(cipher.facts.key_bytes);
        let streams: Vec<_> = (0..PACKETS)
            .map(|_| random.of(cipher.facts.iv_bytes))
            .map(|iv| Stream {
                key: key.clone(),
                bytes: by_definition(cipher, &key, &iv, &[0; 70]),
                iv,
            })
            .collect();
        for one in implementations_of(cipher.facts.name) {
            for count in [FEWER, PACKETS] {
                let mut data: Vec<Vec<u8>> = (0..count).map(|i| vec![0; 70 - i % 3 * 20]).collect();
                let pairs = streams.iter().zip(&mut data);
                let mut packets: Vec<_> = pairs.map(|(stream, data)| Packet { iv: &stream.iv, data }).collect();
                let study = (one.load)(&key).expect("a right size");
                study.xor_batch(&mut packets).expect("right sizes");
                for (i, (stream, data)) in streams.iter().zip(&data).enumerate() {
                    let place = format!("{} {}, packet {i} of {count}", one.facts.name, one.kernel);
                    assert!(stream.bytes.starts_with(data), "{place}");
                }
            }
        }
    }
}

/// A kernel whose instructions no processor has.
#[derive(zeroize::Zeroize)]
struct Imaginary;

impl Kernel for Imaginary {
    const FACTS: &'static Facts = <xor::Definition as Kernel>::FACTS;
    const NAME: &'static str = "imaginary";
    type Key = [u8; 1];
    type Block = [u8; 1];

    fn available() -> bool {
        false
    }

    fn expand(_key: &[u8]) -> Self::Key {
        panic!("asked for a key without the instructions")
    }

    fn start(_key: &Self::Key, _iv: &[u8]) -> Self {
        Self
    }

    fn step(&mut self) -> Self::Block {
        [0]
    }
}

#[test]
fn a_kernel_that_the_machine_cannot_run_is_refused_before_it_runs() {
    let refused = Cipher::<Imaginary>::new(&[0]).err().expect("no such machine");
    let words = "this processor lacks instructions of the imaginary kernel of xor; choose another kernel";
    assert_eq!(refused.to_string(), words);
    for one in IMPLEMENTATIONS {
        let loaded = (one.load)(&vec![1; one.facts.key_bytes.most]);
        assert_eq!(loaded.is_ok(), (one.available)(), "{} {}", one.facts.name, one.kernel);
    }
    let refused = IMPLEMENTATIONS.iter().filter(|one| !(one.available)());
    let refused: Vec<String> = refused
        .map(|one| format!("{} {}", one.facts.name, one.kernel))
        .collect();
    if !refused.is_empty() {
        skipped(format_args!(
            "this processor lacks instructions of kernels: {}",
            refused.join(", ")
        ));
    }
}

#[test]
fn a_batch_with_one_wrong_iv_is_refused_whole() {
    for one in kernels() {
        let study = (one.load)(&vec![1; one.facts.key_bytes.most]).expect("a right size");
        let right = vec![2; one.facts.iv_bytes.most];
        let wrong = vec![2; one.facts.iv_bytes.most + 1];
        let (mut first, mut second) = ([0; 40], [0; 40]);
        let mut packets = [
            Packet {
                iv: &right,
                data: &mut first,
            },
            Packet {
                iv: &wrong,
                data: &mut second,
            },
        ];
        assert!(study.xor_batch(&mut packets).is_err());
        assert_eq!((first, second), ([0; 40], [0; 40]));
    }
}

#[test]
fn keys_and_ivs_are_taken_in_the_stated_sizes_alone() {
    for one in kernels() {
        let (keys, ivs) = (one.facts.key_bytes, one.facts.iv_bytes);
        for size in 0..=keys.most + 1 {
            assert_eq!(
                (one.load)(&vec![0; size]).is_ok(),
                keys.contains(size),
                "{} key of {size}",
                one.facts.name
            );
        }
        let study = (one.load)(&vec![0; keys.least]).expect("a right size");
        for size in 0..=ivs.most + 1 {
            assert_eq!(
                study.keystream(&vec![0; size]).is_ok(),
                ivs.contains(size),
                "{} IV of {size}",
                one.facts.name
            );
        }
    }
}

#[test]
fn a_wrong_size_says_which_ones_are_right() {
    let salsa20 = implementations_of("salsa20").next().expect("Salsa20 is here");
    let refused = (salsa20.load)(&[0; 20]).err().expect("20 bytes are no Salsa20 key");
    let words = "salsa20 does not take a 20-byte key; give it one of 16 to 32 in steps of 16 bytes";
    assert_eq!(refused.to_string(), words);
}

#[test]
fn kernels_of_a_cipher_differ_in_name() {
    for one in IMPLEMENTATIONS {
        let same = |other: &&Implementation| (other.facts.name, other.kernel) == (one.facts.name, one.kernel);
        assert_eq!(
            IMPLEMENTATIONS.iter().filter(same).count(),
            1,
            "{} {}",
            one.facts.name,
            one.kernel
        );
    }
}

#[cfg(target_arch = "aarch64")]
#[test]
fn every_machine_of_aarch64_has_neon() {
    assert!(IMPLEMENTATIONS.iter().any(|one| one.kernel == "neon"));
    assert_eq!(kernels().count(), IMPLEMENTATIONS.len());
}
