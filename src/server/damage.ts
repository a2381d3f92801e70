import { mirrorDamaged } from './errors.ts';

const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

/**
 * Runs a read of the mirror.
 * @throws HttpError 503 when SQLite finds that the file is damaged, else what the read throws
 */
export function withDamageErrors<Found>(read: () => Found): Found {
  try {
    return read();
  } catch (error) {
    throw isDamage(error) ? mirrorDamaged() : error;
  }
}

/** Whether SQLite has found that a file is damaged, or no database at all. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error && (DAMAGE.test(String((error as { code?: unknown }).code)) || isDamage(error.cause));
