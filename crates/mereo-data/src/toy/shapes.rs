//! A box, a triangle and a cross in one small picture, each at its own height.
//!
//! Pictures of 11 x 11 pixels, -1 for paper and 1 for ink. Each shape is 3 wide and 3 high and
//! keeps to its own three columns of pixels, so it has nine heights, and the three heights are
//! independent: 9³ = 729 pictures. To describe one needs three parts with nine states each; a
//! method without parts needs one prototype for each of the 729.

use mereo_core::{Context, Dense, Picture, Result, Table};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::{Toy, Truth, World, check_rows, owned};

/// Pixels along each side.
pub const SIDE: usize = 11;
/// Heights that a shape can be at.
pub const HEIGHTS: usize = SIDE - 3 + 1;
/// Number of pictures that there are.
pub const COUNT: usize = HEIGHTS * HEIGHTS * HEIGHTS;

/// A shape at a height less than this is near the top.
const NEAR_TOP: u32 = 3;
const TRAINING: usize = 100;

/// Each shape: its name, its leftmost pixel, and its ink.
const SHAPES: [(&str, usize, [&[u8; 3]; 3]); 3] = [
    ("box", 0, [b"###", b"###", b"###"]),
    ("triangle", 4, [b"#  ", b"## ", b"###"]),
    ("cross", 8, [b" # ", b"###", b" # "]),
];

/// All 729 pictures in their canonical order: the cross moves fastest, the box slowest.
///
/// ```
/// use mereo_data::toy::shapes;
/// let toy = shapes::all(0)?;
/// assert_eq!(toy.truth.states[1], [0, 0, 1]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn all(seed: u64) -> Result<Toy> {
    draw(&(0..COUNT).collect::<Vec<_>>(), seed)
}

/// Pictures at random: all different up to 729, and then more drawn from all of them.
///
/// ```
/// use mereo_data::toy::shapes;
/// assert_eq!(shapes::sample(1000, 0)?.table.rows(), 1000);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn sample(rows: usize, seed: u64) -> Result<Toy> {
    check_rows(rows)?;
    let mut random = Context::new(seed).random("toy shapes", [0, 0]);
    let mut pictures = shuffled((0..COUNT).collect(), &mut random);
    pictures.truncate(rows);
    while pictures.len() < rows {
        pictures.push(random.random_range(0..COUNT));
    }
    draw(&pictures, seed)
}

/// The experiment of the thesis: 100 pictures to learn from, none of which has all three shapes
/// near the top (in one of the three highest places), and the 629 others to test with.
///
/// ```
/// use mereo_data::toy::shapes;
/// let (training, test) = shapes::split(0)?;
/// assert_eq!((training.table.rows(), test.table.rows()), (100, 629));
/// assert!(training.truth.states.iter().all(|heights| heights.iter().any(|&h| h >= 3)));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn split(seed: u64) -> Result<(Toy, Toy)> {
    let allowed = (0..COUNT).filter(|&p| heights(p).iter().any(|&h| h >= NEAR_TOP)).collect();
    let mut random = Context::new(seed).random("toy shapes split", [0, 0]);
    let mut training = shuffled(allowed, &mut random);
    training.truncate(TRAINING);
    let test: Vec<usize> = (0..COUNT).filter(|p| !training.contains(p)).collect();
    Ok((draw(&training, seed)?, draw(&test, seed)?))
}

fn shuffled(mut pictures: Vec<usize>, random: &mut impl Rng) -> Vec<usize> {
    pictures.shuffle(random);
    pictures
}

/// The heights, counted from the top, of the three shapes in a picture.
fn heights(picture: usize) -> [u32; 3] {
    [picture / (HEIGHTS * HEIGHTS), picture / HEIGHTS % HEIGHTS, picture % HEIGHTS]
        .map(|h| h as u32)
}

/// Calls `visit` with every pixel that a shape inks at a height.
fn for_each_inked(shape: usize, height: u32, mut visit: impl FnMut(usize)) {
    let (_, left, ink) = SHAPES[shape];
    for (y, line) in ink.iter().enumerate() {
        for (x, _) in line.iter().enumerate().filter(|(_, ink)| **ink == b'#') {
            visit((height as usize + y) * SIDE + left + x);
        }
    }
}

fn draw(pictures: &[usize], seed: u64) -> Result<Toy> {
    let pixels = SIDE * SIDE;
    let mut values = vec![-1.0; pictures.len() * pixels];
    for (&picture, row) in pictures.iter().zip(values.chunks_mut(pixels)) {
        for (shape, height) in heights(picture).into_iter().enumerate() {
            for_each_inked(shape, height, |pixel| row[pixel] = 1.0);
        }
    }
    // No shape inks a pixel at all of its nine heights, so the pixels that a shape ever inks are
    // just those that vary.
    let mut part_of_column = vec![None; pixels];
    for shape in 0..SHAPES.len() {
        for height in 0..HEIGHTS as u32 {
            for_each_inked(shape, height, |pixel| part_of_column[pixel] = Some(shape as u32));
        }
    }
    let picture = Picture { height: SIDE, width: SIDE, channels: 1 };
    Ok(Toy {
        table: Table::from(Dense::new(pictures.len(), pixels, values)?).with_picture(picture)?,
        truth: Truth {
            world: World::Shapes.to_string(),
            seed,
            parts: owned(&SHAPES.map(|s| s.0)),
            state_names: vec![(0..HEIGHTS).map(|h| format!("height {h}")).collect(); 3],
            part_of_column,
            states: pictures.iter().map(|&p| heights(p).to_vec()).collect(),
            labels: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::Cells;

    #[test]
    fn a_column_has_a_part_just_if_it_varies() {
        let toy = all(0).unwrap();
        let Cells::Dense(cells) = toy.table.cells() else { panic!() };
        for pixel in 0..SIDE * SIDE {
            let varies = (1..COUNT).any(|r| cells.row(r)[pixel] != cells.row(0)[pixel]);
            assert_eq!(toy.truth.part_of_column[pixel].is_some(), varies, "pixel {pixel}");
        }
    }

    #[test]
    fn all_pictures_differ_and_a_sample_repeats_none() {
        for toy in [all(0).unwrap(), sample(COUNT, 4).unwrap()] {
            let mut states = toy.truth.states.clone();
            states.sort();
            states.dedup();
            assert_eq!(states.len(), COUNT);
        }
        assert_ne!(sample(50, 0).unwrap().truth.states, sample(50, 1).unwrap().truth.states);
    }

    #[test]
    fn training_and_test_pictures_are_all_of_them() {
        let (training, test) = split(9).unwrap();
        let mut states = [training.truth.states, test.truth.states].concat();
        states.sort();
        assert_eq!(states, all(0).unwrap().truth.states);
    }
}
