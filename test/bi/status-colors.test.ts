import { expect, test } from 'vitest';
import { STATUS_COLORS } from '../../src/bi/dataset-columns.ts';

/** How the colour-blind see linear RGB, by Machado, Oliveira and Fernandes (2009), at the full severity. */
const SEEN_WITH = {
  'all cones': [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
} as const;

const XYZ = [0.4124, 0.3576, 0.1805, 0.2126, 0.7152, 0.0722, 0.0193, 0.1192, 0.9505];
const WHITE = [0.9505, 1, 1.089];

const times = (matrix: readonly number[], [x = 0, y = 0, z = 0]: readonly number[]): number[] =>
  [0, 3, 6].map((i) => (matrix[i] ?? 0) * x + (matrix[i + 1] ?? 0) * y + (matrix[i + 2] ?? 0) * z);

const linear = (channel: number): number => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);

/** A colour in CIELAB, in which the distance of two colours is how different they look. */
function lab(hex: string, seen: readonly number[]): number[] {
  const rgb = [1, 3, 5].map((i) => linear(Number.parseInt(hex.slice(i, i + 2), 16) / 255));
  const visible = times(seen, rgb).map((channel) => Math.min(1, Math.max(0, channel)));
  const ratios = times(XYZ, visible).map((each, i) => each / (WHITE[i] ?? 1));
  const [x = 0, y = 0, z = 0] = ratios.map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const colors = Object.entries(STATUS_COLORS);
const pairs = colors.flatMap(([one, a], i) => colors.slice(i + 1).map(([other, b]) => [one, other, a, b] as const));

test.each(pairs)(
  'the colours of %s and %s look different with all cones, protanopia and deuteranopia',
  (_, __, a, b) => {
    for (const [sight, seen] of Object.entries(SEEN_WITH)) {
      const [one, other] = [lab(a, seen), lab(b, seen)];
      expect(Math.hypot(...one.map((each, i) => each - (other[i] ?? 0))), sight).toBeGreaterThan(25);
    }
  },
);
