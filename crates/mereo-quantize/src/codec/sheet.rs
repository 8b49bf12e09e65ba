//! One plane of a picture as numbers, and its blocks.

/// One plane of numbers.
pub(super) struct Sheet {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) values: Vec<f32>,
}

impl Sheet {
    /// At half the size, each number the mean of up to four.
    pub(super) fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mut values = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let (mut sum, mut count) = (0.0, 0.0);
                for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let (py, px) = (2 * y + dy, 2 * x + dx);
                    if py < self.height && px < self.width {
                        sum += self.values[py * self.width + px];
                        count += 1.0;
                    }
                }
                values.push(sum / count);
            }
        }
        Self { width, height, values }
    }

    /// Nothing yet.
    pub(super) fn empty(width: usize, height: usize) -> Self {
        Self { width, height, values: vec![0.0; width * height] }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self, side: usize) -> usize {
        self.width.div_ceil(side) * self.height.div_ceil(side)
    }

    /// Its pixels that are inside a block: where in the block, and where in the sheet.
    fn pixels(&self, block: usize, side: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let across = self.width.div_ceil(side);
        let (top, left) = (block / across * side, block % across * side);
        let (width, height) = (self.width, self.height);
        (0..side * side).filter_map(move |inside| {
            let (y, x) = (top + inside / side, left + inside % side);
            (y < height && x < width).then_some((inside, y * width + x))
        })
    }

    /// A block; beyond the edge the nearest pixel goes on.
    pub(super) fn block(&self, block: usize, side: usize, out: &mut [f64]) {
        let across = self.width.div_ceil(side);
        let (top, left) = (block / across * side, block % across * side);
        for (inside, out) in out.iter_mut().enumerate() {
            let y = (top + inside / side).min(self.height - 1);
            let x = (left + inside % side).min(self.width - 1);
            *out = f64::from(self.values[y * self.width + x]);
        }
    }

    /// Puts a block where it belongs, what is beyond the edge left out.
    pub(super) fn put(&mut self, block: usize, side: usize, cells: &[f64]) {
        for (inside, at) in self.pixels(block, side) {
            self.values[at] = cells[inside] as f32;
        }
    }
}
