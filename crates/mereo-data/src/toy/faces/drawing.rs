//! How a face is drawn: the head, and each state of each part as a layer over it.

use super::super::canvas::{Canvas, Layer, arc, both, ellipse, stroke};
use super::SIDE;

const PAPER: f32 = 0.90;
const SKIN: f32 = 0.74;
const SHADE: f32 = 0.58;
const SHIRT: f32 = 0.46;
const LINE: f32 = 0.22;
const DARK: f32 = 0.10;
const WHITE: f32 = 0.95;

/// Middle of the face, from left to right.
const MIDDLE: f32 = 16.0;

/// A head without features.
pub(super) struct Head {
    /// The picture.
    pub(super) plain: Vec<f32>,
    /// How much of each pixel is skin.
    pub(super) skin: Vec<f32>,
}

fn canvas() -> Canvas {
    Canvas::new(SIDE)
}

pub(super) fn head() -> Head {
    let face = ellipse(MIDDLE, 17.0, 9.6, 12.2);
    let outline = ellipse(MIDDLE, 17.0, 10.3, 12.9);
    let ears = both(MIDDLE, ellipse(5.9, 17.4, 1.5, 2.3));
    let ear_lines = both(MIDDLE, ellipse(5.7, 17.4, 2.2, 3.0));
    let neck = |x: f32, y: f32| (x - MIDDLE).abs() < 3.6 && y > 25.0;
    let shoulders = ellipse(MIDDLE, 38.5, 15.0, 9.0);
    // Light falls from the upper left.
    let light = |x: f32, y: f32| {
        let edge = ((x - MIDDLE) / 9.6).powi(2) + ((y - 17.0) / 12.2).powi(2);
        SKIN + 0.05 - 0.09 * edge * edge - 0.004 * (x - 10.0)
    };
    let plain = canvas()
        .fill(PAPER, |_, _| true)
        .fill(SHADE, neck)
        .fill(LINE, shoulders)
        .fill(SHIRT, ellipse(MIDDLE, 38.5, 14.3, 8.3))
        .fill(LINE, ear_lines)
        .fill(SKIN - 0.06, ears)
        .fill(LINE, outline)
        .shade(face, light)
        .layer()
        .ink;
    let skin = canvas().fill(1.0, ears).fill(1.0, face).layer().cover;
    Head { plain, skin }
}

/// The states of hair, brows, eyes, nose and mouth, in the order of their names.
pub(super) fn parts() -> [Vec<Layer>; 5] {
    [hair(), brows(), eyes(), nose(), mouth()]
        .map(|states| states.iter().map(Canvas::layer).collect())
}

fn hair() -> Vec<Canvas> {
    let skull = ellipse(MIDDLE, 16.2, 11.2, 13.4);
    let aside = |x: f32| (x - MIDDLE).abs();
    // Where hair gives way to forehead: higher in the middle, low at the temples.
    let hairline = move |x: f32| 6.9 + (aside(x) / 9.4).powi(4) * 6.0;
    let long = move |x: f32, y: f32| {
        let crown = ellipse(MIDDLE, 15.5, 12.8, 14.2)(x, y) && y < 15.5;
        let ends = 29.5 - 0.5 * (aside(x) - 10.6).powi(2);
        let falls = (15.5..ends).contains(&y) && aside(x) < 12.8;
        // Combed from a parting on the left.
        let forehead = y > 5.6 + 0.36 * (x - 12.0).abs() && ellipse(MIDDLE, 17.0, 9.0, 13.0)(x, y);
        (crown || falls) && !forehead
    };
    let curls = move |x: f32, y: f32| {
        let ringed = (0..11).any(|i| {
            let angle = std::f32::consts::PI * (0.92 + 0.116 * i as f32);
            ellipse(MIDDLE + 10.6 * angle.cos(), 13.0 + 8.8 * angle.sin(), 3.5, 3.5)(x, y)
        });
        (ringed || (skull(x, y) && y < 9.0)) && (y < 9.0 || aside(x) > 8.6)
    };
    let spikes = move |x: f32, y: f32| {
        let tip = ((x - 5.0) / 3.15).rem_euclid(1.0);
        let top = 5.4 + (aside(x) / 10.0).powi(2) * 4.5 - 5.2 * (1.0 - (2.0 * tip - 1.0).abs());
        aside(x) < 11.0 && y > top && y < hairline(x).min(11.5)
    };
    let streaks = |tone: f32, by: f32| move |x: f32, _: f32| tone + by * (1.9 * x).sin();
    vec![
        // bald, and shining
        canvas().fill(WHITE, ellipse(12.2, 8.4, 2.6, 1.5)),
        // short
        canvas().shade(move |x, y| skull(x, y) && y < hairline(x), streaks(0.24, 0.05)),
        // fringe
        canvas().shade(
            move |x, y| skull(x, y) && (y < 9.2 || (aside(x) > 8.4 && y < 18.0)),
            streaks(0.13, 0.03),
        ),
        // long
        canvas().shade(long, streaks(0.40, 0.07)),
        // curly
        canvas().shade(curls, |x, y| 0.18 + 0.06 * (2.2 * x).sin() * (2.2 * y).sin()),
        // spiky
        canvas().fill(0.14, spikes),
        // beanie, with a bobble
        canvas()
            .fill(LINE, ellipse(MIDDLE, 2.3, 2.7, 2.3))
            .fill(0.84, ellipse(MIDDLE, 2.3, 1.9, 1.6))
            .fill(LINE, move |x, y| ellipse(MIDDLE, 12.0, 10.8, 9.6)(x, y) && y < 8.0)
            .shade(
                move |x, y| ellipse(MIDDLE, 12.0, 10.1, 8.9)(x, y) && y < 8.0,
                |x, _| 0.36 + 0.06 * (2.0 * x).sin(),
            )
            .fill(LINE, move |x, y| (6.6..9.6).contains(&y) && aside(x) < 10.9)
            .shade(
                move |x, y| (7.2..9.1).contains(&y) && aside(x) < 10.3,
                |x, _| if (0.5 * x).rem_euclid(2.0) < 1.0 { 0.56 } else { 0.86 },
            ),
    ]
}

fn brows() -> Vec<Canvas> {
    const BROW: f32 = 0.15;
    let pair = |outer: f32, inner: f32, width: f32| {
        canvas().fill(BROW, both(MIDDLE, stroke((8.1, outer), (13.4, inner), width)))
    };
    let raised = arc(10.8, 11.3, 2.8, -1.3, 1.2);
    vec![
        // flat
        pair(11.7, 11.5, 1.2),
        // raised
        canvas().fill(BROW, both(MIDDLE, raised)),
        // frowning
        pair(9.9, 12.4, 1.5),
        // worried
        pair(12.2, 10.1, 1.2),
        // bushy
        pair(11.3, 11.1, 2.3),
        // quizzical: one up, one down
        canvas()
            .fill(BROW, stroke((8.1, 11.6), (13.4, 12.4), 1.3))
            .fill(BROW, move |x, y| raised(2.0 * MIDDLE - x, y)),
    ]
}

fn eyes() -> Vec<Canvas> {
    const EYE: (f32, f32) = (10.9, 15.4);
    let open = |height: f32, pupil: f32, look: f32| {
        let line = ellipse(EYE.0, EYE.1, 3.0, height + 0.6);
        let white = both(MIDDLE, ellipse(EYE.0, EYE.1, 2.5, height));
        let pupils = move |x: f32, y: f32| {
            let round = ellipse(EYE.0, EYE.1, pupil, pupil);
            white(x, y) && both(MIDDLE, round)(x - look, y)
        };
        canvas().fill(LINE, both(MIDDLE, line)).fill(WHITE, white).fill(DARK, pupils)
    };
    let lens =
        |x: f32, y: f32| ((x - 10.8) / 4.1).abs().powi(3) + ((y - 15.6) / 2.8).abs().powi(3) < 1.0;
    vec![
        open(1.7, 1.2, 0.0),
        open(2.4, 0.9, 0.0),
        open(0.6, 1.0, 0.0),
        open(1.7, 1.2, -1.4),
        open(1.7, 1.2, 1.4),
        // closed, as one does when laughing
        canvas().fill(LINE, both(MIDDLE, arc(EYE.0, 16.2, 2.5, -1.7, 1.0))),
        // sunglasses, light on each lens
        canvas()
            .fill(DARK, stroke((5.6, 14.2), (26.4, 14.2), 1.2))
            .fill(DARK, both(MIDDLE, lens))
            .fill(0.60, stroke((8.6, 15.9), (10.3, 14.2), 0.8))
            .fill(0.60, stroke((19.0, 15.9), (20.7, 14.2), 0.8)),
    ]
}

fn nose() -> Vec<Canvas> {
    let nostrils = |apart: f32, y: f32| both(MIDDLE, ellipse(MIDDLE - apart, y, 0.7, 0.6));
    vec![
        // button
        canvas().fill(LINE, arc(MIDDLE, 19.0, 1.6, 1.3, 0.9)),
        // long
        canvas()
            .fill(0.40, stroke((16.6, 14.6), (14.0, 20.6), 0.9))
            .fill(LINE, stroke((14.0, 20.8), (17.4, 21.0), 0.9)),
        // wide
        canvas()
            .fill(LINE, ellipse(MIDDLE, 19.4, 3.6, 1.9))
            .fill(SKIN - 0.05, ellipse(MIDDLE, 18.8, 3.4, 1.7))
            .fill(DARK, nostrils(1.5, 20.0)),
        // pointed
        canvas().fill(0.42, |x, y| {
            (15.4..21.2).contains(&y) && x > MIDDLE - 0.6 && x < MIDDLE - 0.6 + 0.65 * (y - 15.4)
        }),
        // bulb
        canvas()
            .fill(LINE, ellipse(MIDDLE, 18.7, 2.8, 2.6))
            .fill(0.56, ellipse(MIDDLE, 18.7, 2.2, 2.0))
            .fill(WHITE, ellipse(15.2, 17.9, 0.8, 0.7)),
    ]
}

fn mouth() -> Vec<Canvas> {
    let hanging = |half: f32, top: f32, drop: f32| {
        move |x: f32, y: f32| {
            let t = (x - MIDDLE) / half;
            t.abs() < 1.0 && y > top && y < top + drop * (1.0 - t * t)
        }
    };
    let throat = ellipse(MIDDLE, 25.2, 3.8, 3.2);
    vec![
        // neutral
        canvas().fill(LINE, stroke((12.4, 24.8), (19.6, 24.8), 1.0)),
        // smirk
        canvas()
            .fill(LINE, stroke((12.4, 25.4), (17.2, 25.4), 1.1))
            .fill(LINE, stroke((17.2, 25.4), (20.8, 23.0), 1.1)),
        // smile
        canvas().fill(LINE, arc(MIDDLE, 23.2, 5.2, 3.0, 1.1)),
        // grin: teeth above a tongue
        canvas()
            .fill(DARK, hanging(6.0, 22.4, 6.0))
            .fill(WHITE, move |x, y| hanging(5.2, 22.9, 5.0)(x, y) && y < 24.8)
            .fill(0.45, move |x, y| {
                hanging(5.2, 22.9, 5.0)(x, y) && ellipse(MIDDLE, 27.4, 2.3, 1.3)(x, y)
            }),
        // scream
        canvas()
            .fill(LINE, ellipse(MIDDLE, 25.2, 4.4, 3.8))
            .fill(0.05, throat)
            .fill(0.45, move |x, y| throat(x, y) && ellipse(MIDDLE, 28.0, 2.4, 1.4)(x, y)),
        // gasp
        canvas()
            .fill(LINE, ellipse(MIDDLE, 25.0, 2.1, 2.3))
            .fill(0.05, ellipse(MIDDLE, 25.0, 1.4, 1.6)),
        // frown
        canvas().fill(LINE, arc(MIDDLE, 26.8, 4.6, -2.8, 1.1)),
        // tight: clenched teeth
        canvas()
            .fill(LINE, |x, y| (x - MIDDLE).abs() < 4.6 && (y - 24.9).abs() < 1.7)
            .fill(WHITE, |x, y| (x - MIDDLE).abs() < 4.0 && (y - 24.9).abs() < 1.1)
            // Gaps between teeth, where pixels are: elsewhere they would blur away.
            .fill(0.40, |x, y| {
                let aside = (x - MIDDLE).abs();
                (y - 24.9).abs() < 1.1 && (aside < 0.5 || (2.0..3.0).contains(&aside))
            }),
    ]
}
