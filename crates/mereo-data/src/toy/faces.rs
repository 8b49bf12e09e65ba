//! Cartoon faces: hair, brows, eyes, nose and mouth, in five expressions.
//!
//! Grey pictures of 32 x 32 pixels from 0 (black) to 1 (white). Hair and nose say who somebody
//! is and are independent of the expression; brows, eyes and mouth depend on it, as the class
//! layer of the thesis (chapter 4) supposes: given the class the parts are independent. Each
//! face has its own skin tone, brightness and contrast, and every pixel some noise.

mod drawing;

use mereo_core::{Context, Dense, Labels, Picture, Random, Result, Table};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::canvas::Layer;
use super::{Toy, Truth, World, check_rows, choose, owned};

/// Pixels along each side.
pub const SIDE: usize = 32;

/// Standard deviation of the noise in each pixel.
const PIXEL_NOISE: f32 = 0.025;
const SKIN_SPREAD: f32 = 0.02;
const BRIGHTNESS_SPREAD: f32 = 0.01;
const CONTRAST_SPREAD: f32 = 0.03;

const CLASSES: [&str; 5] = ["anger", "neutral", "scream", "smile", "sunglasses"];

const HAIR: [&str; 7] = ["bald", "short", "fringe", "long", "curly", "spiky", "beanie"];
const BROWS: [&str; 6] = ["flat", "raised", "frowning", "worried", "bushy", "quizzical"];
const EYES: [&str; 7] = ["open", "wide", "narrow", "left", "right", "closed", "sunglasses"];
const NOSE: [&str; 5] = ["button", "long", "wide", "pointed", "bulb"];
const MOUTH: [&str; 8] = ["neutral", "smirk", "smile", "grin", "scream", "gasp", "frown", "tight"];

/// How often each state of each part is seen in each class, in percent.
struct Habits {
    brows: [f64; 6],
    eyes: [f64; 7],
    mouth: [f64; 8],
}

/// In the order of `CLASSES`; states in the order of their names above.
const HABITS: [Habits; 5] = [
    Habits {
        brows: [2.0, 0.0, 90.0, 0.0, 8.0, 0.0],
        eyes: [38.0, 4.0, 40.0, 8.0, 8.0, 2.0, 0.0],
        mouth: [8.0, 0.0, 0.0, 2.0, 2.0, 0.0, 30.0, 58.0],
    },
    Habits {
        brows: [40.0, 16.0, 2.0, 10.0, 18.0, 14.0],
        eyes: [44.0, 6.0, 10.0, 18.0, 18.0, 4.0, 0.0],
        mouth: [70.0, 12.0, 2.0, 0.0, 0.0, 4.0, 4.0, 8.0],
    },
    Habits {
        brows: [4.0, 40.0, 8.0, 36.0, 6.0, 6.0],
        eyes: [10.0, 55.0, 6.0, 3.0, 3.0, 23.0, 0.0],
        mouth: [0.0, 0.0, 0.0, 4.0, 90.0, 6.0, 0.0, 0.0],
    },
    Habits {
        brows: [28.0, 34.0, 0.0, 10.0, 14.0, 14.0],
        eyes: [36.0, 12.0, 12.0, 8.0, 8.0, 24.0, 0.0],
        mouth: [0.0, 10.0, 46.0, 42.0, 0.0, 2.0, 0.0, 0.0],
    },
    Habits {
        brows: [40.0, 16.0, 4.0, 8.0, 20.0, 12.0],
        eyes: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 100.0],
        mouth: [62.0, 16.0, 6.0, 4.0, 0.0, 4.0, 4.0, 4.0],
    },
];

/// Makes faces.
///
/// ```
/// use mereo_data::toy::faces;
/// let toy = faces::make(5, 0)?;
/// assert_eq!(toy.table.columns(), faces::SIDE * faces::SIDE);
/// assert_eq!(toy.truth.labels.map(|l| l.names.len()), Some(5));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn make(rows: usize, seed: u64) -> Result<Toy> {
    check_rows(rows)?;
    let head = drawing::head();
    let parts = drawing::parts();
    let context = Context::new(seed);
    let pixels = SIDE * SIDE;
    let mut values = vec![0.0; rows * pixels];
    let mut states = Vec::with_capacity(rows);
    let mut classes = Vec::with_capacity(rows);
    for (row, face) in values.chunks_mut(pixels).enumerate() {
        let mut random = context.random("toy face", [row as u64, 0]);
        let class = random.random_range(0..CLASSES.len());
        let chosen = express(&HABITS[class], &mut random);
        let mut normal = || -> f32 { random.sample(StandardNormal) };
        let skin = SKIN_SPREAD * normal();
        let brightness = BRIGHTNESS_SPREAD * normal();
        let contrast = 1.0 + CONTRAST_SPREAD * normal();
        draw(&head, parts.iter().zip(chosen).map(|(layers, state)| &layers[state]), skin, face);
        for pixel in face {
            let lit = 0.5 + contrast * (*pixel - 0.5) + brightness;
            *pixel = (lit + PIXEL_NOISE * normal()).clamp(0.0, 1.0);
        }
        states.push(chosen.map(|state| state as u32).to_vec());
        classes.push(Some(class as u32));
    }
    let labels = Labels { names: owned(&CLASSES), of_row: classes };
    let table = Table::from(Dense::new(rows, pixels, values)?)
        .with_picture(Picture { height: SIDE, width: SIDE, channels: 1 })?
        .with_labels(labels.clone())?;
    let truth = Truth {
        world: World::Faces.to_string(),
        seed,
        parts: owned(&["hair", "brows", "eyes", "nose", "mouth"]),
        state_names: [&HAIR[..], &BROWS, &EYES, &NOSE, &MOUTH].map(owned).to_vec(),
        part_of_column: part_of_pixel(&head, &parts),
        states,
        labels: Some(labels),
    };
    Ok(Toy { table, truth })
}

/// Chooses the states of the five parts for one face of a class.
fn express(habits: &Habits, random: &mut Random) -> [usize; 5] {
    [
        random.random_range(0..HAIR.len()),
        choose(&habits.brows, random),
        choose(&habits.eyes, random),
        random.random_range(0..NOSE.len()),
        choose(&habits.mouth, random),
    ]
}

/// Draws a face: the head in its skin tone, and each part over it.
fn draw<'a>(
    head: &drawing::Head,
    layers: impl Iterator<Item = &'a Layer>,
    skin: f32,
    face: &mut [f32],
) {
    for ((pixel, &plain), &share) in face.iter_mut().zip(&head.plain).zip(&head.skin) {
        *pixel = plain + skin * share;
    }
    for layer in layers {
        layer.over(face);
    }
}

/// For each pixel the part whose state explains most of its variance, when all states are
/// equally likely and independent; none if that is less than the noise.
fn part_of_pixel(head: &drawing::Head, parts: &[Vec<Layer>; 5]) -> Vec<Option<u32>> {
    let means: Vec<Layer> = parts.iter().map(|layers| Layer::mean(layers)).collect();
    let mut best = vec![(PIXEL_NOISE * PIXEL_NOISE, None); SIDE * SIDE];
    let mut face = vec![0.0; SIDE * SIDE];
    for (part, layers) in parts.iter().enumerate() {
        let mut moments = vec![(0.0f32, 0.0f32); SIDE * SIDE];
        for layer in layers {
            let shown =
                means.iter().enumerate().map(|(p, mean)| if p == part { layer } else { mean });
            draw(head, shown, 0.0, &mut face);
            for ((sum, squares), &v) in moments.iter_mut().zip(&face) {
                *sum += v;
                *squares += v * v;
            }
        }
        let states = layers.len() as f32;
        for (best, (sum, squares)) in best.iter_mut().zip(moments) {
            let variance = squares / states - (sum / states).powi(2);
            if variance > best.0 {
                *best = (variance, Some(part as u32));
            }
        }
    }
    best.into_iter().map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_region_and_no_two_states_look_alike() {
        let (head, parts) = (drawing::head(), drawing::parts());
        let owner = part_of_pixel(&head, &parts);
        for (part, layers) in parts.iter().enumerate() {
            let region: Vec<usize> =
                (0..SIDE * SIDE).filter(|&p| owner[p] == Some(part as u32)).collect();
            assert!(region.len() >= 20, "part {part} owns {} pixels", region.len());
            let faces: Vec<Vec<f32>> = layers
                .iter()
                .map(|layer| {
                    let mut face = vec![0.0; SIDE * SIDE];
                    draw(&head, std::iter::once(layer), 0.0, &mut face);
                    face
                })
                .collect();
            for (i, a) in faces.iter().enumerate() {
                for b in &faces[..i] {
                    let apart: f32 = region.iter().map(|&p| (a[p] - b[p]).powi(2)).sum();
                    // Far beyond what the noise could confuse.
                    assert!(apart.sqrt() > 15.0 * PIXEL_NOISE, "part {part}: {}", apart.sqrt());
                }
            }
        }
    }

    #[test]
    fn habits_are_in_percent() {
        for habits in HABITS {
            for total in [
                habits.brows.iter().sum::<f64>(),
                habits.eyes.iter().sum(),
                habits.mouth.iter().sum(),
            ] {
                assert_eq!(total, 100.0);
            }
        }
    }
}
