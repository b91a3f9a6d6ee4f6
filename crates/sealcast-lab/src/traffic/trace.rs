//! A trace of packets, and its bytes by frame.

use sealcast::meter::statistics::median;

/// Standard deviations of a normal distribution in its median absolute deviation.
const DEVIATIONS: f64 = 1.4826;

/// Values further than this many deviations from the median count as if they were there: one burst must not outweigh
/// everything else.
const CLIP: f64 = 8.0;

/// A packet, as far as it is seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// Seconds, by any clock.
    pub at: f64,
    /// Its length in bytes.
    pub bytes: f64,
}

/// The middle of the packets of frames that follow one another at this interval in seconds: from 0 to the interval.
/// It is the mean direction of times on a circle whose circumference is the interval, weighted by bytes. So nothing
/// but the frame rate must be known, and a bin that begins half an interval before it holds whole frames.
pub fn middle_of_frames(packets: &[Packet], interval: f64) -> f64 {
    let (mut x, mut y) = (0.0, 0.0);
    for packet in packets {
        let angle = packet.at / interval * std::f64::consts::TAU;
        x += packet.bytes * angle.cos();
        y += packet.bytes * angle.sin();
    }
    (y.atan2(x) / std::f64::consts::TAU * interval).rem_euclid(interval)
}

/// Bytes in each of `count` bins of `width` seconds, the first of which begins at `from`.
pub fn bins(packets: &[Packet], from: f64, width: f64, count: usize) -> Vec<f64> {
    let mut bins = vec![0.0; count];
    for packet in packets {
        let at = ((packet.at - from) / width).floor();
        if at >= 0.0 && at < count as f64 {
            bins[at as usize] += packet.bytes;
        }
    }
    bins
}

/// Distance from the median in deviations, estimated by the median absolute deviation, and clipped. All zero if all
/// values are the same.
pub fn standardised(values: &[f64]) -> Vec<f64> {
    let middle = median(&mut values.to_vec());
    let mut far: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mut scale = median(&mut far) * DEVIATIONS;
    if scale <= 0.0 {
        // More than half of the values are alike, as in a shaped stream: what is left is measured by its mean.
        scale = far.iter().sum::<f64>() / far.len().max(1) as f64;
    }
    let of = |value: &f64| match scale > 0.0 {
        true => ((value - middle) / scale).clamp(-CLIP, CLIP),
        false => 0.0,
    };
    values.iter().map(of).collect()
}

/// Pearson's correlation; 0 where one of the two is constant.
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let count = a.len().min(b.len()) as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / count, b.iter().sum::<f64>() / count);
    let (mut both, mut own, mut other) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        both += x * y;
        own += x * x;
        other += y * y;
    }
    match own * other > 0.0 {
        true => both / (own * other).sqrt(),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_whose_packets_straddle_a_multiple_of_the_interval_are_kept_together() {
        // Frames each 40 ms that begin 35 ms after a multiple of that and take 10 ms.
        let packets: Vec<Packet> = (0..100)
            .flat_map(|frame| {
                [0.0, 0.005, 0.010].map(|late| Packet {
                    at: 1000.0 + f64::from(frame) * 0.04 + 0.035 + late,
                    bytes: 100.0,
                })
            })
            .collect();
        let middle = middle_of_frames(&packets, 0.04);
        assert!(!(1e-6..=0.04 - 1e-6).contains(&middle), "{middle}");
        let from = 1000.0 + 0.04 + middle.rem_euclid(0.04) - 0.02;
        let seen = bins(&packets, from, 0.04, 90);
        assert!(seen.iter().all(|bytes| *bytes == 300.0), "{seen:?}");
    }

    #[test]
    fn one_burst_does_not_outweigh_the_rest() {
        let mut values: Vec<f64> = (0..99).map(|at| f64::from(at % 11)).collect();
        values.push(1e9);
        let seen = standardised(&values);
        assert_eq!(seen[99], CLIP);
        assert!(
            (seen[10] - (10.0 - 5.0) / (3.0 * DEVIATIONS)).abs() < 1e-9,
            "{}",
            seen[10]
        );
        assert_eq!(standardised(&[7.0; 5]), [0.0; 5]);
        assert_eq!(standardised(&[7.0, 7.0, 7.0, 9.0])[3], 4.0);
    }

    #[test]
    fn correlation_is_that_of_pearson() {
        assert!((correlation(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]) - 1.0).abs() < 1e-12);
        assert!((correlation(&[1.0, 2.0, 3.0], &[1.0, 0.0, -1.0]) + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), 0.0);
    }
}
