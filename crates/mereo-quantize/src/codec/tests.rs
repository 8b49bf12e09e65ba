//! What is written is read, and what is broken is refused.

use mereo_core::Context;
use proptest::prelude::*;
use rand::RngExt;

use super::picture::{CodecParams, Picture, psnr, ssim};
use super::*;

fn photograph(width: u32, height: u32, channels: u8) -> Picture {
    let mut random = Context::new(1).random("photograph", [0, 0]);
    let mut pixels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            for c in 0..u32::from(channels) {
                let wave = (f64::from(x + 7 * c) / 9.0).sin() + (f64::from(y) / 13.0).cos();
                pixels.push((120.0 + 50.0 * wave + random.random_range(0.0..9.0)) as u8);
            }
        }
    }
    Picture { width, height, channels, pixels }
}

fn params(features: usize, sets: usize, colour: Colour) -> CodecParams {
    CodecParams { block: 8, features, sets, bits: 9, colour, restarts: 1, ..CodecParams::default() }
}

fn coded(picture: &Picture, features: usize, sets: usize, colour: Colour) -> Coded {
    Coded::of_picture(picture, &params(features, sets, colour), &Context::new(0)).unwrap()
}

#[test]
fn pictures_come_back_as_they_were_said() {
    for (picture, colour) in [
        (photograph(50, 37, 1), Colour::Grey),
        (photograph(50, 37, 3), Colour::Planes),
        (photograph(51, 37, 3), Colour::YCbCr),
        (photograph(3, 1, 3), Colour::YCbCr),
    ] {
        for (features, sets, guess, penalty) in
            [(4, 1, true, 0.0), (4, 1, false, 50.0), (2, 3, true, 50.0), (0, 5, false, 0.0)]
        {
            let params = CodecParams { penalty, guess, ..params(features, sets, colour) };
            let coded = Coded::of_picture(&picture, &params, &Context::new(0)).unwrap();
            let bytes = coded.to_bytes();
            let read = Coded::from_bytes(&bytes, "memory".as_ref()).unwrap();
            assert_eq!(read, coded);
            let (a, b) = (coded.picture().unwrap(), read.picture().unwrap());
            assert_eq!(a, b);
            assert_eq!(
                (a.width, a.height, a.channels),
                (picture.width, picture.height, picture.channels)
            );
            assert!(psnr(&picture, &a) > 15.0);
            assert!(ssim(&picture, &a) <= 1.0);
        }
    }
}

#[test]
fn the_plain_count_is_the_papers_but_for_the_origins_bit() {
    let picture = photograph(768, 704, 1);
    let plane = Plane {
        sets: 1,
        features: 8,
        bits: 16,
        side: Some(16),
        step: 1.0,
        halvings: vec![0; 9],
        levels: vec![0; 9 * 256],
        states: vec![(0, 0); (picture.width * picture.height / 256) as usize],
    };
    // The paper's 56 kbit: the origin as one more bit a block.
    let blocks = plane.states.len() as f64;
    assert_eq!(plane.kilobits(), 53.76);
    assert_eq!(plane.kilobits() + blocks / 1000.0, 55.872);
    let book =
        Plane { sets: 16, features: 0, halvings: vec![0; 16], levels: vec![0; 16 * 256], ..plane };
    assert_eq!(book.kilobits(), 73.984);
}

#[test]
fn coding_beats_the_plain_count() {
    let coded = coded(&photograph(160, 120, 1), 4, 1, Colour::Grey);
    let bytes = coded.to_bytes().len() as f64;
    assert!(bytes * 8.0 < 1000.0 * coded.kilobits(), "{bytes} {}", coded.kilobits());
}

#[test]
fn what_can_be_guessed_need_not_be_said_and_bits_must_pay() {
    let picture = photograph(160, 120, 1);
    let measure = |guess: bool, penalty: f64| {
        let params = CodecParams { penalty, guess, ..params(6, 1, Colour::Grey) };
        let coded = Coded::of_picture(&picture, &params, &Context::new(0)).unwrap();
        (coded.to_bytes().len(), psnr(&picture, &coded.picture().unwrap()))
    };
    let (_, plain) = measure(false, 0.0);
    let (bytes, guessed) = measure(true, 0.0);
    assert!(guessed > plain + 0.5, "{plain} {guessed}");
    let (fewer, priced) = measure(true, 400.0);
    assert!(fewer < bytes, "{bytes} {fewer}");
    // Whatever a bit saves, it is worth at least what it costs.
    let squares = |decibels: f64| 160.0 * 120.0 * 255.0f64.powi(2) / 10f64.powf(decibels / 10.0);
    let spent = squares(priced) - squares(guessed);
    assert!(spent < 400.0 * 8.0 * (bytes - fewer) as f64, "{spent} {bytes} {fewer}");
}

#[test]
fn features_must_pay_for_themselves() {
    let picture = photograph(80, 64, 1);
    let kept = |penalty: f64| {
        let params = CodecParams { penalty, ..params(12, 1, Colour::Grey) };
        let coded = Coded::of_picture(&picture, &params, &Context::new(0)).unwrap();
        coded.planes[0].features
    };
    let (all, few) = (kept(0.0), kept(3000.0));
    assert!(all == 12 && few < 12, "{all} {few}");
}

#[test]
fn whoever_asks_for_a_stop_gets_the_best_so_far() {
    let picture = photograph(50, 37, 3);
    for (features, guess) in [(4, true), (4, false), (0, false)] {
        let sets = if features == 0 { 5 } else { 1 };
        let params = CodecParams { guess, ..params(features, sets, Colour::YCbCr) };
        let stop = mereo_core::Stop::default();
        let context = Context::new(0).stopped_by(&stop);
        // Asked while the first plane is said, it says the others all the same.
        let mut shares = Vec::new();
        let mut told = |share| {
            shares.push(share);
            stop.ask();
        };
        let coded = Coded::of_picture_told(&picture, &params, &context, &mut told).unwrap();
        assert!(shares.len() < 12 && shares[0] < 0.5, "{shares:?}");
        let decibels = psnr(&picture, &coded.picture().unwrap());
        assert!(decibels > 15.0, "{decibels}");
        // Asked before anything was said, there is nothing to give.
        let nothing = Coded::of_picture(&picture, &params, &context);
        assert!(matches!(nothing, Err(mereo_core::Error::Interrupted)), "{nothing:?}");
    }
}

#[test]
fn broken_files_are_refused() {
    let bytes = coded(&photograph(40, 40, 3), 2, 2, Colour::YCbCr).to_bytes();
    for end in 0..bytes.len() {
        assert!(Coded::from_bytes(&bytes[..end], "x".as_ref()).is_err());
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 0x41;
        assert!(Coded::from_bytes(&other, "x".as_ref()).is_err(), "byte {at}");
    }
    // Sizes that are said and not there, under a right checksum.
    for (at, value) in [(11, u32::MAX), (15, u32::MAX), (11, 1 << 19), (19, 200), (23, u32::MAX)] {
        let mut other = bytes.clone();
        other[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let end = other.len() - 4;
        let sum = checksum(&other[..end]);
        other[end..].copy_from_slice(&sum.to_le_bytes());
        assert!(Coded::from_bytes(&other, "x".as_ref()).is_err(), "{at} {value}");
    }
}

proptest! {
    #[test]
    fn whatever_a_file_says_nothing_panics(
        changes in proptest::collection::vec((0usize..4000, any::<u8>()), 1..6)
    ) {
        let mut bytes = coded(&photograph(20, 20, 1), 2, 2, Colour::Grey).to_bytes();
        let end = bytes.len() - 4;
        for (at, value) in changes {
            bytes[8 + at % (end - 8)] = value;
        }
        let sum = checksum(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.to_le_bytes());
        if let Ok(coded) = Coded::from_bytes(&bytes, "x".as_ref()) {
            // A changed file may say that it holds a table.
            match coded.what {
                What::Picture { .. } => drop(coded.picture().unwrap()),
                What::Table { .. } => drop(coded.rows(0).unwrap()),
            }
        }
    }
}
