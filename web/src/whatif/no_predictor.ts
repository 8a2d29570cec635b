// Stands where the predictor's glue would be when the page is built without it.
export default null;
