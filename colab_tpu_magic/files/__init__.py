"""Data that lies in files: TFRecords and folders of images, read in bulk."""
