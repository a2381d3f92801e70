import { checkProperties } from './check-properties.ts';

checkProperties(200, 20261125);
