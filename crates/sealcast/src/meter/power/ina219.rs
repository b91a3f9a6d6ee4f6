//! The INA219, a chip that measures a current by a shunt resistor, and the voltage behind it. Register names and
//! numbers are those of its datasheet (Texas Instruments, SBOS448G).

use std::time::Duration;

use embedded_hal::i2c::I2c;

use super::sample::{About, Channel, Meter, Quantity, Sample};
use crate::failure::{Failure, FailureKind, Result};

const CONFIGURATION: u8 = 0x00;
const BUS_VOLTAGE: u8 = 0x02;
const CURRENT: u8 = 0x04;
const CALIBRATION: u8 = 0x05;

/// Configuration: bus voltages up to 32 V; 12-bit samples averaged over 16, for both bus and shunt; continuous
/// measurement.
const RANGE_32_V: u16 = 1 << 13;
const MEAN_OF_16: u16 = 0b1100 << 7 | 0b1100 << 3;
const CONTINUOUS: u16 = 0b111;

/// Sampling period: one measurement of both voltages takes twice 8.51 ms.
const PERIOD: Duration = Duration::from_millis(20);

/// Flag in the bus voltage register: the current exceeded the range of the calibration.
const OVERFLOW: u16 = 1;
/// Volts per step of the bus voltage, which is stored above three status bits.
const BUS_STEP: f64 = 4e-3;
const BUS_SHIFT: u32 = 3;
/// Constant of the calibration equation: 0.04096 = 4096 · 10 µV.
const SCALE: f64 = 0.04096;
/// The current register has 15 bits and a sign.
const STEPS: f64 = 32768.0;
/// Full-scale shunt voltages in volts, indexed by the two bits of the gain.
const GAINS: [f64; 4] = [0.04, 0.08, 0.16, 0.32];
const GAIN_SHIFT: u32 = 11;

/// The chip's shunt resistor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shunt {
    /// Resistance in ohms; modules usually have 0.1.
    pub ohms: f64,
    /// Maximum expected current in amperes. A lower value gives finer steps: each is `amps` / 32768.
    pub amps: f64,
}

impl Default for Shunt {
    fn default() -> Self {
        Self { ohms: 0.1, amps: 2.0 }
    }
}

impl Shunt {
    /// Computes the gain bits and the calibration.
    ///
    /// # Errors
    /// Kind `Usage`: the chip cannot measure this current; the message says why.
    pub(super) fn settings(&self) -> Result<(u16, u16)> {
        let Self { ohms, amps } = *self;
        let failed = |what: String| Failure::new(FailureKind::Usage, what, "see docs/meters.md for shunt and amps");
        let volts = ohms * amps;
        let gain = GAINS.iter().position(|scale| volts <= scale * (1.0 + 1e-9));
        // The comparison is also false for NaN.
        let gain = gain.filter(|_| ohms > 0.0 && amps > 0.0).ok_or_else(|| {
            let most = GAINS[GAINS.len() - 1];
            failed(format!(
                "an INA219 measures up to {most} V over its shunt, not {ohms} ohms times {amps} A"
            ))
        })?;
        let calibration = (SCALE / (amps / STEPS * ohms) * (1.0 + 1e-12)).trunc();
        if calibration > f64::from(u16::MAX) {
            return Err(failed(format!("{ohms} ohms and {amps} A are too little for an INA219")));
        }
        // The lowest bit of the calibration is always 0.
        Ok((gain as u16, calibration as u16 & !1))
    }
}

/// An INA219 on an I2C bus.
pub struct Ina219<B> {
    bus: B,
    address: u8,
    about: About,
    shunt: Shunt,
    /// Amperes per step of the current register.
    step: f64,
}

impl<B: I2c> Ina219<B> {
    /// Sets up the chip at `address` of the bus named `place`.
    ///
    /// # Errors
    /// It does not answer, is not an INA219, or cannot measure the current of this shunt.
    pub fn open(bus: B, place: &str, address: u8, shunt: Shunt) -> Result<Self> {
        let (gain, calibration) = shunt.settings()?;
        let about = About {
            name: format!("ina219:{place}@{address:#04x}"),
            covers: "all that is fed through the shunt; not what the supply itself loses".to_owned(),
            resolution: "4 mV, and 1/32768 of the most current; each reading is the mean of 17 ms",
            period: PERIOD,
            step: PERIOD,
            channels: vec![Channel {
                name: "ina219".to_owned(),
                quantity: Quantity::Watts,
                counted: true,
            }],
        };
        // The calibration was truncated to an integer, so compute the exact step from it.
        let step = SCALE / (f64::from(calibration) * shunt.ohms);
        let mut chip = Self {
            bus,
            address,
            about,
            shunt,
            step,
        };
        chip.write(CONFIGURATION, RANGE_32_V | gain << GAIN_SHIFT | MEAN_OF_16 | CONTINUOUS)?;
        chip.write(CALIBRATION, calibration)?;
        let there = chip.register(CALIBRATION)?;
        if there != calibration {
            let what = format!(
                "what answers at {} is no INA219: its calibration is {there:#06x}, and should be {calibration:#06x}",
                chip.about.name
            );
            return Err(Failure::new(
                FailureKind::Source,
                what,
                "see whether address and bus are right",
            ));
        }
        Ok(chip)
    }

    fn unanswered(&self, error: &B::Error) -> Failure {
        let what = format!("the meter {} does not answer ({error:?})", self.about.name);
        let hint = "see whether it has power, and whether `i2cdetect -y` with the bus's number shows the address";
        Failure::new(FailureKind::Source, what, hint)
    }

    fn write(&mut self, register: u8, value: u16) -> Result<()> {
        let [high, low] = value.to_be_bytes();
        let sent = self.bus.write(self.address, &[register, high, low]);
        sent.map_err(|error| self.unanswered(&error))
    }

    fn register(&mut self, register: u8) -> Result<u16> {
        let mut bytes = [0; 2];
        let read = self.bus.write_read(self.address, &[register], &mut bytes);
        read.map_err(|error| self.unanswered(&error))?;
        Ok(u16::from_be_bytes(bytes))
    }

    /// Current power in watts; negative if the current flows backwards.
    fn watts(&mut self) -> Result<f64> {
        let bus = self.register(BUS_VOLTAGE)?;
        let current = self.register(CURRENT)?.cast_signed();
        if bus & OVERFLOW != 0 {
            let what = format!(
                "the meter {} was given more than {} A",
                self.about.name, self.shunt.amps
            );
            let hint = "say amps= as high as it gets, with a smaller shunt if need be";
            return Err(Failure::new(FailureKind::Source, what, hint));
        }
        Ok(f64::from(bus >> BUS_SHIFT) * BUS_STEP * f64::from(current) * self.step)
    }
}

impl<B: I2c + Send> Meter for Ina219<B> {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
        let value = self.watts()?;
        samples.push(Sample {
            channel: 0,
            at: now,
            value,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use embedded_hal::i2c::{ErrorKind, ErrorType, NoAcknowledgeSource, Operation};

    use super::*;

    const ADDRESS: u8 = 0x40;

    /// A simulated bus with registers that compute as the datasheet says.
    struct Chip {
        registers: [u16; 6],
        chosen: u8,
        keeps: bool,
    }

    impl ErrorType for Chip {
        type Error = ErrorKind;
    }

    impl I2c for Chip {
        fn transaction(&mut self, address: u8, operations: &mut [Operation<'_>]) -> Result<(), ErrorKind> {
            if address != ADDRESS {
                return Err(ErrorKind::NoAcknowledge(NoAcknowledgeSource::Address));
            }
            for operation in operations {
                match operation {
                    Operation::Write([register]) => self.chosen = *register,
                    Operation::Write([register, high, low]) if self.keeps => {
                        self.registers[usize::from(*register)] = u16::from_be_bytes([*high, *low]);
                    }
                    Operation::Write(_) => {}
                    Operation::Read(bytes) => {
                        let value = match self.chosen {
                            CURRENT => {
                                let shunt = i32::from(self.registers[1].cast_signed());
                                let product = shunt * i32::from(self.registers[usize::from(CALIBRATION)]) / 4096;
                                (product as i16).cast_unsigned()
                            }
                            other => self.registers[usize::from(other)],
                        };
                        bytes.copy_from_slice(&value.to_be_bytes());
                    }
                }
            }
            Ok(())
        }
    }

    /// The datasheet's worked example (table 8): 12 V, 10 A through 2 mΩ; shunt and bus voltage registers.
    fn example() -> Chip {
        Chip {
            registers: [0x399F, 0x07D0, 0x5D98, 0, 0, 0],
            chosen: 0,
            keeps: true,
        }
    }

    /// 1 mA per step, as in the example.
    const SHUNT: Shunt = Shunt {
        ohms: 0.002,
        amps: 32.768,
    };

    fn open(chip: Chip) -> Result<Ina219<Chip>> {
        Ina219::open(chip, "/dev/i2c-1", ADDRESS, SHUNT)
    }

    #[test]
    fn the_datasheets_example_comes_out_to_the_last_digit() {
        let mut chip = open(example()).unwrap();
        assert_eq!(chip.bus.registers[usize::from(CALIBRATION)], 0x5000);
        assert_eq!(chip.register(CURRENT).unwrap(), 0x2710, "10 A");
        assert!((chip.watts().unwrap() - 119.8).abs() < 1e-9);
        let power = (119.8 / (20.0 * chip.step)).round();
        assert_eq!(power as u16, 0x1766, "what the power register would hold");
    }

    #[test]
    fn the_configuration_asks_for_means_and_for_the_least_gain_that_is_enough() {
        let chip = open(example()).unwrap();
        assert_eq!(
            chip.bus.registers[0], 0b0010_1110_0110_0111,
            "32 V, 80 mV, 16 samples each, both over and over"
        );
        let (gain, calibration) = Shunt::default().settings().unwrap();
        assert_eq!((gain, calibration), (3, 6710), "0.2 V need the scale of 0.32 V");
        assert_eq!(Shunt { ohms: 0.1, amps: 0.4 }.settings().unwrap().0, 0);
    }

    #[test]
    fn a_current_that_flows_backwards_is_negative_power() {
        let mut chip = open(example()).unwrap();
        chip.bus.registers[1] = (-2000_i16).cast_unsigned();
        assert!((chip.watts().unwrap() + 119.8).abs() < 1e-9);
    }

    #[test]
    fn too_much_current_is_an_error_and_not_a_figure() {
        let mut chip = open(example()).unwrap();
        chip.bus.registers[usize::from(BUS_VOLTAGE)] |= OVERFLOW;
        let failure = chip.read(Duration::ZERO, &mut Vec::new()).unwrap_err();
        assert!(failure.what.contains("more than 32.768 A"), "{failure}");
    }

    #[test]
    fn a_chip_that_is_not_there_or_is_another_one_is_named() {
        let failure = Ina219::open(example(), "/dev/i2c-1", 0x41, SHUNT).err().unwrap();
        assert!(
            failure.what.contains("ina219:/dev/i2c-1@0x41 does not answer"),
            "{failure}"
        );
        let other = Chip {
            keeps: false,
            ..example()
        };
        let failure = open(other).err().unwrap();
        assert!(failure.what.contains("no INA219"), "{failure}");
    }

    #[test]
    fn a_shunt_that_the_chip_cannot_measure_is_refused() {
        for (ohms, amps) in [(0.1, 3.3), (0.0, 1.0), (0.1, -1.0), (f64::NAN, 1.0), (0.0001, 0.1)] {
            let failure = Shunt { ohms, amps }.settings().unwrap_err();
            assert_eq!(failure.kind, FailureKind::Usage, "{ohms} ohms, {amps} A: {failure}");
        }
    }
}
