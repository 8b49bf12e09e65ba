//! A model from pictures with label pictures.

use mereo_core::{Context, Error, Result};
use mereo_data::Pixels;
use mereo_field::learn::golden;
use mereo_field::picture::{FEATURES, contrast_weights, features, lab};
use mereo_field::{Neighbours, Regression};

use super::{Colours, Told};

/// Pixels of each picture that the regression is learned from.
const PIXELS: usize = 4000;
/// The ridge, in pixels.
const RIDGE: f64 = 10.0;

/// A picture, and the label of each of its pixels.
#[derive(Debug, Clone)]
pub struct Example {
    /// The picture.
    pub picture: Pixels,
    /// A label for each pixel; none where it does not count.
    pub labels: Vec<Option<u8>>,
}

impl Example {
    /// A picture with its label picture. Labels that are to be ignored do not count; if nobody says which, 128 is where there are
    /// only 0, 128 and 255.
    ///
    /// ```
    /// # use mereo::segment::Example;
    /// let picture = mereo::data::Pixels { height: 1, width: 3, channels: 1, bytes: vec![0, 90, 200] };
    /// assert_eq!(Example::new(picture.clone(), &[0, 128, 255], None)?.labels, [Some(0), None, Some(255)]);
    /// assert_eq!(Example::new(picture.clone(), &[1, 2, 2], Some(1))?.labels, [None, Some(2), Some(2)]);
    /// assert!(Example::new(picture, &[1, 2], None).is_err());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn new(picture: Pixels, truth: &[u8], ignore: Option<u8>) -> Result<Self> {
        let pixels = picture.height * picture.width;
        if truth.len() != pixels {
            let problem = format!("{} labels for {pixels} pixels", truth.len());
            return Err(Error::option("labels", problem));
        }
        let open = truth.iter().all(|v| matches!(v, 0 | 128 | 255));
        let ignored = ignore.or(open.then_some(128));
        let labels = truth.iter().map(|v| Some(*v).filter(|v| Some(*v) != ignored)).collect();
        Ok(Self { picture, labels })
    }
}

/// Learns to tell labels by features around a pixel, and how strongly neighbours agree.
///
/// ```
/// use mereo::data::Pixels;
/// use mereo::segment::{Example, SegmentParams, learn, segment};
/// let bytes: Vec<u8> = (0..400).map(|i| if i % 20 < 8 { 200 } else { 40 }).collect();
/// let labels = bytes.iter().map(|b| Some(if *b > 100 { 1 } else { 2 })).collect();
/// let picture = Pixels { height: 20, width: 20, channels: 1, bytes };
/// let context = mereo::Context::new(0);
/// let model = learn(&[Example { picture: picture.clone(), labels }], &context)?;
/// let cut = segment(&picture, None, Some(&model), &SegmentParams::default(), false, &context)?;
/// assert!((0..400).all(|i| cut.labels[i] == if i % 20 < 8 { 1 } else { 2 }));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn learn(examples: &[Example], context: &Context) -> Result<Colours> {
    let mut there = [false; 256];
    let labels = examples.iter().flat_map(|e| e.labels.iter().flatten());
    labels.for_each(|label| there[usize::from(*label)] = true);
    let values: Vec<u8> = (0..=255).filter(|label| there[usize::from(*label)]).collect();
    if values.len() < 2 {
        let problem = format!("label pictures have the labels {values:?}; at least two are needed");
        return Err(Error::option("labels", problem));
    }
    let label_of = |value: u8| values.iter().position(|v| *v == value).unwrap_or(0);
    let (mut rows, mut own) = (Vec::new(), Vec::new());
    for example in examples {
        if context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let Pixels { height, width, .. } = example.picture;
        let all = features(&lab(&example.picture.bytes, example.picture.channels), (height, width));
        let counted = example.labels.iter().flatten().count();
        // A stride that no row of pixels has in common.
        let step = (counted / PIXELS).max(1) | 1;
        let labelled = example.labels.iter().enumerate().filter_map(|(i, l)| Some((i, (*l)?)));
        for (i, label) in labelled.step_by(step) {
            rows.extend_from_slice(&all[i * FEATURES..(i + 1) * FEATURES]);
            own.push(label_of(label) as u8);
        }
    }
    let regression = Regression::fit(&rows, FEATURES, &own, values.len(), None, RIDGE)?;
    let strength = strength(examples, &regression, &label_of);
    Ok(Colours::new(values, Told::Regression(regression), Some(strength)))
}

/// The strength that makes labels most probable given their neighbours and what the regression says
/// (pseudo-likelihood), by golden section: its log is concave.
fn strength(examples: &[Example], regression: &Regression, label_of: &impl Fn(u8) -> usize) -> f64 {
    const MOST: f64 = 50.0;
    let labels = regression.labels();
    // Of some pixels what the regression says and how much neighbours of each label weigh.
    let (mut said, mut around, mut own) = (Vec::new(), Vec::new(), Vec::new());
    let mut logs = vec![0.0; labels];
    for example in examples {
        let Pixels { height, width, channels, .. } = example.picture;
        let seen = lab(&example.picture.bytes, channels);
        let all = features(&seen, (height, width));
        let weights = contrast_weights(&seen, (height, width), 3, Neighbours::Eight, 1.0);
        let counted = example.labels.iter().flatten().count();
        let step = (counted / PIXELS).max(1) | 1;
        let labelled = example.labels.iter().enumerate().filter_map(|(i, l)| Some((i, (*l)?)));
        for (i, label) in labelled.step_by(step) {
            let (y, x) = ((i / width) as isize, (i % width) as isize);
            let mut mass = vec![0.0; labels];
            for (d, (down, right)) in [(0, 1), (1, 0), (1, 1), (1, -1)].into_iter().enumerate() {
                for sign in [-1isize, 1] {
                    let (y, x) = (y + sign * down, x + sign * right);
                    let inside =
                        (0..height as isize).contains(&y) && (0..width as isize).contains(&x);
                    if !inside {
                        continue;
                    }
                    let j = y as usize * width + x as usize;
                    let first = if sign > 0 { i } else { j };
                    if let Some(label) = example.labels[j] {
                        mass[label_of(label)] += weights[first * 4 + d];
                    }
                }
            }
            regression.log_probabilities(&all[i * FEATURES..(i + 1) * FEATURES], &mut logs);
            said.extend_from_slice(&logs);
            around.extend(mass);
            own.push(label_of(label));
        }
    }
    let value = |strength: f64| -> f64 {
        let each = said.chunks_exact(labels).zip(around.chunks_exact(labels)).zip(&own);
        each.map(|((said, around), own)| {
            for (out, (s, a)) in logs.iter_mut().zip(said.iter().zip(around)) {
                *out = s + strength * a;
            }
            let chosen = logs[*own];
            chosen - mereo_core::math::softmax(&mut logs)
        })
        .sum()
    };
    golden(0.0, MOST, 30, value)
}
