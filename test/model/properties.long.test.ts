import { checkProperties } from './check-properties.ts';

checkProperties(200);
