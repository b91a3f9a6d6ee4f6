//! Selections: the part of a publisher's media that is encrypted (protocol.md §4, Selection).

/// A share in thousandths, 0 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permille(u16);

impl Permille {
    /// The whole, in thousandths.
    const MAX: u16 = 1000;

    /// Creates a share of `thousandths`, or `None` for more than 1000.
    pub fn new(thousandths: u16) -> Option<Self> {
        (thousandths <= Self::MAX).then_some(Self(thousandths))
    }

    /// Returns the thousandths.
    pub fn get(self) -> u16 {
        self.0
    }
}

/// A level of SECMPEG, 1 to 4: from the headers alone to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Headers.
    Headers = 1,
    /// Headers, and the begin of the data of intra pictures.
    IntraBegin = 2,
    /// Headers, and all intra macroblocks.
    Intra = 3,
    /// Everything.
    All = 4,
}

impl Level {
    /// All levels in order.
    pub const ALL: [Self; 4] = [Self::Headers, Self::IntraBegin, Self::Intra, Self::All];

    /// The level with this number, or `None` if it is not 1 to 4.
    pub fn new(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.get() == number)
    }

    /// Returns its number.
    pub fn get(self) -> u16 {
        self as u16
    }
}

/// The part of a publisher's media that is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Selection {
    /// Everything. Every session begins with this.
    #[default]
    All,
    /// Nothing: all media is in clear, but authenticated.
    None,
    /// This share of the units; each unit is drawn independently.
    Rate(Permille),
    /// Whole keyframes.
    Keyframes,
    /// Parameter sets and slice headers; the headers of an image.
    Headers,
    /// Whole keyframes, and the headers of all other frames.
    HeadersAndKeyframes,
    /// The parts that this level of SECMPEG encrypts.
    Level(Level),
}

impl Selection {
    /// Returns the mode and the argument of a selection message.
    pub(crate) fn to_wire(self) -> (u8, u16) {
        match self {
            Self::All => (0, 0),
            Self::None => (1, 0),
            Self::Rate(rate) => (2, rate.0),
            Self::Keyframes => (3, 0),
            Self::Headers => (4, 0),
            Self::HeadersAndKeyframes => (5, 0),
            Self::Level(level) => (6, level.get()),
        }
    }

    /// The reverse of [`to_wire`](Self::to_wire); `None` for invalid values.
    pub(crate) fn from_wire(mode: u8, argument: u16) -> Option<Self> {
        match (mode, argument) {
            (0, 0) => Some(Self::All),
            (1, 0) => Some(Self::None),
            (2, permille) => Permille::new(permille).map(Self::Rate),
            (3, 0) => Some(Self::Keyframes),
            (4, 0) => Some(Self::Headers),
            (5, 0) => Some(Self::HeadersAndKeyframes),
            (6, level) => Level::new(level).map(Self::Level),
            _ => None,
        }
    }
}
