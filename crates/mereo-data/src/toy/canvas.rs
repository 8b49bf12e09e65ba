//! A little canvas: shapes painted in grey with smooth edges.

/// Samples along each side of a pixel.
const FINE: usize = 4;

/// One layer of a picture in premultiplied form: what it adds, and how much it covers.
/// Laying it over something is `ink + (1 - cover) * below`, an affine map of each.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) ink: Vec<f32>,
    pub(super) cover: Vec<f32>,
}

impl Layer {
    /// Lays this over a picture.
    pub(super) fn over(&self, below: &mut [f32]) {
        for ((below, ink), cover) in below.iter_mut().zip(&self.ink).zip(&self.cover) {
            *below = ink + (1.0 - cover) * *below;
        }
    }

    /// The mean of several layers. Since laying over is affine, the mean picture of independent
    /// layers is the picture of their means.
    pub(super) fn mean(layers: &[Self]) -> Self {
        let share = 1.0 / layers.len().max(1) as f32;
        let mean = |of: fn(&Self) -> &Vec<f32>| {
            let mut sum = vec![0.0; layers.first().map_or(0, |l| of(l).len())];
            for layer in layers {
                sum.iter_mut().zip(of(layer)).for_each(|(s, v)| *s += v * share);
            }
            sum
        };
        Self { ink: mean(|l| &l.ink), cover: mean(|l| &l.cover) }
    }
}

/// A square canvas, finer than the pixels that it will become. Coordinates are in pixels, from
/// the top left corner, to the right and down.
pub(super) struct Canvas {
    side: usize,
    samples: Vec<Option<f32>>,
}

impl Canvas {
    /// An empty canvas of this many pixels along each side.
    pub(super) fn new(side: usize) -> Self {
        Self { side, samples: vec![None; (side * FINE) * (side * FINE)] }
    }

    /// Paints with `tone(x, y)` wherever `inside(x, y)`.
    pub(super) fn shade(
        mut self,
        inside: impl Fn(f32, f32) -> bool,
        tone: impl Fn(f32, f32) -> f32,
    ) -> Self {
        let width = self.side * FINE;
        for (at, sample) in self.samples.iter_mut().enumerate() {
            let x = ((at % width) as f32 + 0.5) / FINE as f32;
            let y = ((at / width) as f32 + 0.5) / FINE as f32;
            if inside(x, y) {
                *sample = Some(tone(x, y));
            }
        }
        self
    }

    /// Paints one tone wherever `inside(x, y)`.
    pub(super) fn fill(self, tone: f32, inside: impl Fn(f32, f32) -> bool) -> Self {
        self.shade(inside, |_, _| tone)
    }

    /// The canvas as pixels.
    pub(super) fn layer(&self) -> Layer {
        let pixels = self.side * self.side;
        let mut layer = Layer { ink: vec![0.0; pixels], cover: vec![0.0; pixels] };
        let share = 1.0 / (FINE * FINE) as f32;
        let width = self.side * FINE;
        for (at, tone) in self.samples.iter().enumerate() {
            if let Some(tone) = tone {
                let pixel = (at / width / FINE) * self.side + (at % width) / FINE;
                layer.ink[pixel] += share * tone;
                layer.cover[pixel] += share;
            }
        }
        layer
    }
}

/// A filled ellipse.
pub(super) fn ellipse(cx: f32, cy: f32, rx: f32, ry: f32) -> impl Fn(f32, f32) -> bool + Copy {
    move |x, y| ((x - cx) / rx).powi(2) + ((y - cy) / ry).powi(2) <= 1.0
}

/// A straight stroke with round ends.
pub(super) fn stroke(
    from: (f32, f32),
    to: (f32, f32),
    width: f32,
) -> impl Fn(f32, f32) -> bool + Copy {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).max(1e-6);
    move |x, y| {
        let along = (((x - from.0) * dx + (y - from.1) * dy) / length).clamp(0.0, 1.0);
        let (px, py) = (x - from.0 - along * dx, y - from.1 - along * dy);
        px * px + py * py <= width * width / 4.0
    }
}

/// A stroke along a parabola through the ends `cx ± half` at height `y`, whose middle hangs
/// `sag` below them (or rises above, if negative).
pub(super) fn arc(
    cx: f32,
    y: f32,
    half: f32,
    sag: f32,
    width: f32,
) -> impl Fn(f32, f32) -> bool + Copy {
    move |px, py| {
        let t = ((px - cx) / half).clamp(-1.0, 1.0);
        let (ax, ay) = (cx + t * half, y + sag * (1.0 - t * t));
        // Steep strokes measured straight up would look thin: divide by the slope's length.
        let slope = 2.0 * sag * t / half;
        let steep = if t.abs() < 1.0 { 1.0 + slope * slope } else { 1.0 };
        (px - ax).powi(2) + (py - ay).powi(2) / steep <= width * width / 4.0
    }
}

/// A shape and its mirror image, left and right of `cx`.
pub(super) fn both(
    cx: f32,
    shape: impl Fn(f32, f32) -> bool + Copy,
) -> impl Fn(f32, f32) -> bool + Copy {
    move |x, y| shape(x, y) || shape(2.0 * cx - x, y)
}
