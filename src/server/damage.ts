import { isDamage } from '../destination/sqlite/open.ts';
import { mirrorDamaged } from './errors.ts';

/** Runs a read of the mirror. @throws HttpError 503 if the file is damaged; otherwise what the read throws */
export function withDamageErrors<Found>(read: () => Found): Found {
  try {
    return read();
  } catch (error) {
    throw isDamage(error) ? mirrorDamaged() : error;
  }
}
