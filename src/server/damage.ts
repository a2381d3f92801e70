import { mirrorDamaged } from './errors.ts';

const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

/** Runs a read of the mirror. @throws HttpError 503 if the file is damaged; otherwise what the read throws */
export function withDamageErrors<Found>(read: () => Found): Found {
  try {
    return read();
  } catch (error) {
    throw isDamage(error) ? mirrorDamaged() : error;
  }
}

/** Whether SQLite reports that the file is damaged or not a database. */
export const isDamage = (error: unknown): boolean =>
  error instanceof Error && (DAMAGE.test(String((error as { code?: unknown }).code)) || isDamage(error.cause));
