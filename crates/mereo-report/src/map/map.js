(() => {
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const $ = (id) => document.getElementById(id);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);
  const words = (text) => new Uint16Array(bytes(text).buffer);
  const n = data.rows, d = data.dimensions, raw = floats(data.points);
  const canvas = $("map"), marks = $("map-marks"), frame = $("map-frame"), tip = $("map-tip");

  // Points about their middle, so that the longest side of the map is 2.
  const low = Array(d).fill(Infinity), high = Array(d).fill(-Infinity);
  for (let i = 0; i < n; i++) for (let k = 0; k < d; k++) {
    const v = raw[i * d + k];
    if (v < low[k]) low[k] = v;
    if (v > high[k]) high[k] = v;
  }
  const middle = low.map((v, k) => (v + high[k]) / 2);
  const side = Math.max(...low.map((v, k) => high[k] - v)) || 1;
  const at = new Float32Array(3 * n);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < d; k++) at[3 * i + k] = 2 * (raw[i * d + k] - middle[k]) / side;
    // In one dimension points are strewn, so that they do not hide one another.
    if (d === 1) at[3 * i + 1] = 0.3 * ((i * 0.6180339887) % 1 - 0.5);
  }

  // Colours: a class each, or a scale from dark to light that everybody can tell apart (viridis).
  const scale = ["#440154", "#482878", "#3e4a89", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
  const rgb = (css) => [1, 3, 5].map((k) => parseInt(css.slice(k, k + 2), 16));
  const stops = scale.map(rgb), grey = [0x7a, 0x82, 0x8c];
  const along = (t) => {
    const x = Math.min(Math.max(t, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(x), stops.length - 2), f = x - k;
    return stops[k].map((c, j) => c + f * (stops[k + 1][j] - c));
  };
  const palette = data.palette.map(rgb);
  const choices = [];
  if (data.labels) {
    const of = words(data.labels.of);
    choices.push({ name: "label", names: data.labels.names, of });
  }
  for (const s of data.states) choices.push({ name: s.name, names: Array.from({ length: s.count }, (_, j) => `state ${j}`), of: words(s.of) });
  choices.push({ name: "density", make: density, low: "few", high: "many" });
  if (data.columns) for (const c of data.columns.each) choices.push({ name: c.name, column: c });
  const colour = new Uint8Array(4 * n);
  let chosen = null, only = null, hovered = -1, found = -1;

  function density() {
    // How many points are in the cell around each, smoothed over its neighbours.
    const cells = d === 3 ? 24 : 64, counts = new Float32Array(d === 3 ? cells ** 3 : cells * cells);
    const cell = (v) => Math.min(Math.max(Math.floor((v + 1) / 2 * cells), 0), cells - 1);
    const place = (x, y, z) => (d === 3 ? (z * cells + y) * cells + x : y * cells + x);
    for (let i = 0; i < n; i++) counts[place(cell(at[3 * i]), cell(at[3 * i + 1]), cell(at[3 * i + 2]))] += 1;
    const out = new Float32Array(n);
    let most = 0;
    for (let i = 0; i < n; i++) {
      const c = [0, 1, 2].map((k) => cell(at[3 * i + k]));
      let sum = 0;
      for (let dz = d === 3 ? -1 : 0; dz <= (d === 3 ? 1 : 0); dz++) for (let dy = -1; dy <= 1; dy++) for (let dx = -1; dx <= 1; dx++) {
        const [x, y, z] = [c[0] + dx, c[1] + dy, d === 3 ? c[2] + dz : 0];
        if (x >= 0 && y >= 0 && z >= 0 && x < cells && y < cells && z < cells) sum += counts[place(x, y, z)];
      }
      out[i] = Math.sqrt(sum);
      most = Math.max(most, out[i]);
    }
    for (let i = 0; i < n; i++) out[i] /= most || 1;
    return out;
  }
  const values = (choice) => {
    if (choice.shares) return choice.shares;
    if (choice.make) return (choice.shares = choice.make());
    if (choice.column) {
      const of = words(choice.column.of);
      choice.shares = Float32Array.from(of, (v) => (v === 65535 ? NaN : v / 65534));
    }
    return choice.shares;
  };
  const short = (v) => (Number.isInteger(v) && Math.abs(v) < 1e9 ? String(v) : Number(v.toPrecision(5)).toString());
  function paint(choice) {
    chosen = choice;
    const shares = choice.names ? null : values(choice);
    for (let i = 0; i < n; i++) {
      let c = grey, alpha = 235;
      if (choice.names) {
        const of = choice.of[i];
        if (of !== 65535) c = palette[of % palette.length];
        if (only !== null && of !== only) alpha = 22;
      } else if (shares[i] === shares[i]) c = along(shares[i]);
      else alpha = 60;
      colour.set([c[0], c[1], c[2], alpha], 4 * i);
    }
    legend();
    pen.colours();
    draw();
  }
  function legend() {
    const box = $("map-legend");
    box.textContent = "";
    if (chosen.names) {
      chosen.names.slice(0, 200).forEach((name, k) => {
        const b = document.createElement("button"), dot = document.createElement("i");
        b.type = "button";
        b.setAttribute("aria-pressed", String(only === k));
        dot.style.background = data.palette[k % palette.length];
        b.append(dot, name);
        b.onclick = () => { only = only === k ? null : k; paint(chosen); };
        box.append(b);
      });
    } else {
      const bar = document.createElement("span");
      bar.className = "bar";
      bar.style.background = `linear-gradient(to right, ${scale.join(",")})`;
      const [a, b] = chosen.column ? [short(chosen.column.low), short(chosen.column.high)] : [chosen.low, chosen.high];
      box.append(a, bar, b);
    }
  }

  // How the map is seen: turned (three dimensions), moved, enlarged.
  const home = () => ({ x: 0, y: 0, zoom: 1, yaw: d === 3 ? 0.6 : 0, pitch: d === 3 ? 0.4 : 0 });
  let view = home(), width = 1, height = 1, ratio = 1;
  function matrix() {
    const [cy, sy, cp, sp] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
    // Rows: right, up, towards the eye.
    return [[cy, 0, sy], [sy * sp, cp, -cy * sp], [-sy * cp, sp, cy * cp]];
  }
  const unit = () => (d === 3 ? 0.62 : 0.94) * Math.min(width, height) / 2 * view.zoom;
  function project(i, m) {
    const [x, y, z] = [at[3 * i], at[3 * i + 1], at[3 * i + 2]], u = unit();
    return [
      width / 2 + u * (m[0][0] * x + m[0][1] * y + m[0][2] * z + view.x),
      height / 2 - u * (m[1][0] * x + m[1][1] * y + m[1][2] * z + view.y),
      m[2][0] * x + m[2][1] * y + m[2][2] * z,
    ];
  }

  // WebGL draws a million points; a plain canvas stands in where there is none.
  function webgl() {
    const gl = canvas.getContext("webgl", { antialias: false, premultipliedAlpha: false, preserveDrawingBuffer: true });
    if (!gl) return null;
    const compile = (kind, text) => {
      const s = gl.createShader(kind);
      gl.shaderSource(s, text);
      gl.compileShader(s);
      return s;
    };
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, `
      attribute vec3 at; attribute vec4 colour; uniform mat3 turn; uniform vec2 unit, shift; uniform float size, deep; varying vec4 shade;
      void main() { vec3 p = turn * at; gl_Position = vec4((p.xy + shift) * unit, -p.z * 0.4, 1.0);
        gl_PointSize = size * (1.0 + deep * 0.3 * p.z); shade = vec4(colour.rgb * (1.0 + deep * 0.22 * min(p.z, 0.0)), colour.a); }`));
    gl.attachShader(program, compile(gl.FRAGMENT_SHADER, `
      precision mediump float; varying vec4 shade;
      void main() { float r = length(gl_PointCoord - 0.5); if (r > 0.5) discard; gl_FragColor = vec4(shade.rgb, shade.a * smoothstep(0.5, 0.38, r)); }`));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
    gl.useProgram(program);
    const buffer = (name, array, size, kind, normal) => {
      const b = gl.createBuffer(), where = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, b);
      gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
      gl.enableVertexAttribArray(where);
      gl.vertexAttribPointer(where, size, kind, normal, 0, 0);
      return b;
    };
    buffer("at", at, 3, gl.FLOAT, false);
    const shades = buffer("colour", colour, 4, gl.UNSIGNED_BYTE, true);
    const uniform = (name) => gl.getUniformLocation(program, name);
    const [turn, u, shift, size, deep] = ["turn", "unit", "shift", "size", "deep"].map(uniform);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (d === 3) gl.enable(gl.DEPTH_TEST);
    return {
      colours() { gl.bindBuffer(gl.ARRAY_BUFFER, shades); gl.bufferData(gl.ARRAY_BUFFER, colour, gl.DYNAMIC_DRAW); },
      draw(m, points) {
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        gl.uniformMatrix3fv(turn, false, [m[0][0], m[1][0], m[2][0], m[0][1], m[1][1], m[2][1], m[0][2], m[1][2], m[2][2]]);
        gl.uniform2f(u, 2 * unit() / width, 2 * unit() / height);
        gl.uniform2f(shift, view.x, view.y);
        gl.uniform1f(size, points * ratio);
        gl.uniform1f(deep, d === 3 ? 1 : 0);
        gl.drawArrays(gl.POINTS, 0, n);
      },
    };
  }
  function plain() {
    const pen = canvas.getContext("2d");
    return {
      colours() {},
      draw(m, points) {
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        pen.clearRect(0, 0, width, height);
        const order = d === 3 ? Array.from({ length: n }, (_, i) => i).map((i) => [project(i, m)[2], i]).sort((a, b) => a[0] - b[0]).map((p) => p[1]) : null;
        for (let k = 0; k < n; k++) {
          const i = order ? order[k] : k, [x, y] = project(i, m);
          if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
          pen.fillStyle = `rgb(${colour[4 * i]} ${colour[4 * i + 1]} ${colour[4 * i + 2]} / ${colour[4 * i + 3] / 255})`;
          pen.fillRect(x - points / 2, y - points / 2, points, points);
        }
      },
    };
  }
  const pen = webgl() ?? plain();
  let waiting = false, stale = false;
  function draw() {
    stale = true;
    mark();
  }
  // Circles about the rows that are told of; points are drawn again only if they are seen otherwise.
  function mark() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const m = matrix();
      if (stale) pen.draw(m, Number($("map-size").value) * Math.min(1.8, Math.sqrt(view.zoom)));
      stale = false;
      const over = marks.getContext("2d");
      over.setTransform(ratio, 0, 0, ratio, 0, 0);
      over.clearRect(0, 0, width, height);
      over.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
      for (const [i, r, w] of [[found, 11, 2.5], [hovered, 7, 1.5]]) if (i >= 0) {
        const [x, y] = project(i, m);
        over.lineWidth = w;
        over.beginPath();
        over.arc(x, y, r, 0, 7);
        over.stroke();
      }
    });
  }
  function resize() {
    width = frame.clientWidth;
    height = frame.clientHeight;
    ratio = Math.min(devicePixelRatio || 1, 2);
    for (const c of [canvas, marks]) { c.width = Math.round(width * ratio); c.height = Math.round(height * ratio); }
    draw();
  }
  new ResizeObserver(resize).observe(frame);

  // What a row is.
  const named = (i) => data.names?.[i] || `row ${i}`;
  const thumbs = data.pictures ? bytes(data.pictures.of) : null;
  function tell(i, x, y) {
    tip.textContent = "";
    const title = document.createElement("strong");
    title.textContent = named(i);
    tip.append(title);
    if (data.labels) {
      const of = words.cache ??= choices[0].of, l = of[i];
      if (l !== 65535) tip.append(" · ", data.labels.names[l]);
    }
    if (thumbs) {
      const { height: h, width: w, channels: c } = data.pictures, image = document.createElement("canvas");
      [image.width, image.height] = [w, h];
      const ink = image.getContext("2d"), cells = ink.createImageData(w, h);
      for (let p = 0; p < w * h; p++) for (let k = 0; k < 4; k++) cells.data[4 * p + k] = k === 3 ? 255 : thumbs[i * w * h * c + p * c + (c === 3 ? k : 0)];
      ink.putImageData(cells, 0, 0);
      tip.append(image);
    }
    if (data.columns) {
      const table = document.createElement("table");
      for (const choice of choices.filter((c) => c.column).slice(0, 12)) {
        const share = values(choice)[i], row = table.insertRow();
        row.insertCell().textContent = choice.name;
        row.insertCell().textContent = share === share ? short(choice.column.low + share * (choice.column.high - choice.column.low)) : "–";
      }
      tip.append(table);
    }
    tip.hidden = false;
    const [w, h] = [tip.offsetWidth, tip.offsetHeight];
    tip.style.left = `${Math.max(4, x + 16 + w > width ? x - w - 16 : x + 16)}px`;
    tip.style.top = `${Math.min(Math.max(4, y - h / 2), Math.max(4, height - h - 4))}px`;
  }
  function nearest(x, y, reach) {
    const [[a, b, c], [e, f, g], [p, q, r]] = matrix(), u = unit();
    // Where the mouse is, in the map's own units.
    const right = (x - width / 2) / u - view.x, up = (height / 2 - y) / u - view.y, slack = 4 / (u * u);
    let best = -1, least = (reach / u) ** 2, front = -Infinity;
    for (let i = 0, k = 0; i < n; i++, k += 3) {
      const px = at[k], py = at[k + 1], pz = at[k + 2];
      const dx = a * px + b * py + c * pz - right;
      if (dx * dx > least) continue;
      const dy = e * px + f * py + g * pz - up, off = dx * dx + dy * dy;
      if (off > least || colour[4 * i + 3] < 30) continue;
      // Of points that lie on one another, the one in front.
      const z = p * px + q * py + r * pz;
      if (off < least - slack || z >= front) { least = off; best = i; front = z; }
    }
    return best;
  }
  function hover(x, y, reach) {
    hovered = nearest(x, y, reach);
    if (hovered < 0) tip.hidden = true; else tell(hovered, x, y);
    mark();
  }

  // One finger or the mouse moves or turns, two fingers or the wheel enlarge.
  const fingers = new Map();
  let moved = 0;
  const place = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
  function enlarge(factor, x, y) {
    const before = unit();
    view.zoom = Math.min(Math.max(view.zoom * factor, 0.2), 500);
    const [a, b] = [x - width / 2, height / 2 - y];
    view.x += a / unit() - a / before;
    view.y += b / unit() - b / before;
    draw();
  }
  canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); fingers.set(e.pointerId, place(e)); moved = 0; });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = place(e), was = fingers.get(e.pointerId);
    if (!was) { if (e.pointerType === "mouse") hover(x, y, 14); return; }
    const [dx, dy] = [x - was[0], y - was[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (fingers.size === 1 && d === 3 && !e.shiftKey) {
      view.yaw += dx * 0.008;
      view.pitch = Math.min(Math.max(view.pitch + dy * 0.008, -1.57), 1.57);
    } else if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== e.pointerId)[1];
      const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      enlarge(gap([x, y]) / gap(was), (x + other[0]) / 2, (y + other[1]) / 2);
      view.x += dx / 2 / unit();
      view.y -= dy / 2 / unit();
    } else {
      view.x += dx / unit();
      view.y -= dy / unit();
    }
    fingers.set(e.pointerId, [x, y]);
    tip.hidden = true;
    hovered = -1;
    draw();
  });
  const lift = (e) => {
    fingers.delete(e.pointerId);
    if (moved < 6 && e.type === "pointerup") hover(...place(e), e.pointerType === "mouse" ? 14 : 26);
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  // A finger that is lifted leaves too, but what it tapped stays told.
  canvas.addEventListener("pointerleave", (e) => { if (!fingers.size && e.pointerType === "mouse") { hovered = -1; tip.hidden = true; mark(); } });
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); enlarge(Math.exp(-e.deltaY * 0.0015), ...place(e)); }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (step && d === 3) { view.yaw += step[0] * 0.15; view.pitch -= step[1] * 0.15; }
    else if (step) { view.x += step[0] * 0.1 / view.zoom; view.y += step[1] * 0.1 / view.zoom; }
    else if (e.key === "+" || e.key === "=") enlarge(1.25, width / 2, height / 2);
    else if (e.key === "-") enlarge(0.8, width / 2, height / 2);
    else if (e.key === "0") view = home();
    else return;
    e.preventDefault();
    draw();
  });
  $("map-reset").onclick = () => { view = home(); found = -1; hovered = -1; tip.hidden = true; $("map-find").value = ""; $("map-found").textContent = ""; draw(); };
  $("map-size").oninput = draw;
  $("map-find").oninput = () => {
    const text = $("map-find").value.trim().toLowerCase(), note = $("map-found");
    found = -1;
    tip.hidden = true;
    if (text) {
      const hits = [];
      for (let i = 0; i < n && hits.length < 1000; i++) {
        const name = data.names ? data.names[i].toLowerCase() : "";
        if (name === text || String(i) === text) hits.unshift(i); else if (name.includes(text)) hits.push(i);
      }
      if (hits.length) {
        found = hits[0];
        const m = matrix(), [x, y] = project(found, m);
        view.x -= (x - width / 2) / unit();
        view.y += (y - height / 2) / unit();
        tell(found, width / 2, height / 2);
      }
      note.textContent = hits.length ? `${named(found)}${hits.length > 1 ? `, and ${hits.length - 1}${hits.length === 1000 ? " or more" : ""} others` : ""}` : "no row has that name or number";
    } else note.textContent = "";
    draw();
  };
  const select = $("map-colour");
  choices.forEach((choice, k) => select.add(new Option(choice.name, String(k))));
  select.onchange = () => { only = null; paint(choices[Number(select.value)]); };
  // Many points are drawn small.
  $("map-size").value = String(n > 30000 ? 2 : n > 3000 ? 3 : n > 300 ? 5 : 8);
  new MutationObserver(mark).observe(document.documentElement, { attributes: true });
  resize();
  paint(choices[0]);
  window.mereoMap = { rows: n, dimensions: d, seen: () => ({ ...view }), where: (i) => project(i, matrix()), webgl: pen.draw.length === 2 && !!canvas.getContext("webgl") };
})();
